/** Passkeys at the console, over HTTP: what they sign, and what is no signature of the decision. */
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { canonicalDigest } from "../../src/identity/canonical-form.ts";
import { decodeJws } from "../../src/identity/jws.ts";
import { passkeyFault, readPasskeyAttestation } from "../../src/identity/passkey-attestation.ts";
import { passkeysCommand } from "../../src/programs/control-commands.ts";
import { ALMA, approvingFiles, booking, ranIn, under } from "../support/approving.ts";
import { CONSOLE, type ConsoleVisitor, openConsole, type TestConsole } from "../support/console.ts";
import { askHouse, openHouse } from "../support/console-house.ts";
import { makeKeysProgram } from "../support/keys-program.ts";
import {
  type CeremonyOptions,
  makeSoftPasskey,
  type SoftPasskey,
} from "../support/soft-passkey.ts";
import { runIn } from "../support/terminal.ts";

async function open(): Promise<TestConsole> {
  return openConsole(await approvingFiles([], CONSOLE));
}

async function waiting(house: TestConsole, guest = "Ada"): Promise<string> {
  const reply = await askHouse(house, ALMA, booking("7", { body: { guest } }));
  return String(reply.body["escalation_id"]);
}

async function challengeFor(visitor: ConsoleVisitor, about: object): Promise<CeremonyOptions> {
  const { status, body, text } = await visitor.post("/api/passkeys/challenge", about);
  expect([status, text]).toEqual([200, expect.any(String)]);
  return body.options;
}

/** Registers a passkey of the person. */
async function withPasskey(
  house: TestConsole,
  visitor: ConsoleVisitor,
  more: object = {},
): Promise<SoftPasskey> {
  const passkey = makeSoftPasskey(house.origin);
  const options = await challengeFor(visitor, { for: "registration" });
  const registration = passkey.register(options);
  const { status, text } = await visitor.post("/api/passkeys", {
    ...{ name: "a key", registration },
    ...more,
  });
  expect([status, text]).toEqual([200, expect.any(String)]);
  return passkey;
}

const aboutDecision = (id: string, decision = "accepted") => ({
  ...{ for: "decision", escalation_id: id, decision },
});

async function codeOf(answer: ReturnType<ConsoleVisitor["post"]>) {
  const { status, body } = await answer;
  return [status, body.error?.code];
}

/** A record with other members, and without a signature. */
function unsigned(jws: string, members: object): string {
  const payload = JSON.stringify({ ...decodeJws(jws)?.payload, ...members });
  const parts = ['{"alg":"none"}', payload].map((part) => Buffer.from(part).toString("base64url"));
  return `${parts.join(".")}.`;
}

const REFUSED = [403, "passkey-refused"];

describe("an operator with a passkey", () => {
  it("approves with its signature alone, which stands in the record and can be checked", async () => {
    const house = await open();
    const nina = await house.signIn({ name: "Nina" });
    const passkey = await withPasskey(house, nina);
    const id = await waiting(house);
    const path = `/api/approvals/${id}`;
    const plain = { decision: "accepted", reason: "fine" };
    // Another session of the same person, too: a session alone does not approve.
    const again = await house.signIn({ name: "Nina" });
    for (const visitor of [nina, again]) {
      expect(await codeOf(visitor.post(path, plain))).toEqual([403, "passkey-required"]);
    }
    const assertion = passkey.sign(await challengeFor(nina, aboutDecision(id)));
    const { status, body } = await nina.post(path, { ...plain, assertion });
    expect(status).toBe(200);
    const operator = { id: "link:Nina", name: "Nina", via: "passkey" };
    expect(body.escalation.decision).toMatchObject({ status: "accepted", operator });
    expect((await askHouse(house, ALMA, under(id, booking("7")))).status).toBe(200);
    expect(ranIn(house)).toHaveLength(1);
    const { events } = (await nina.get(`/api/agents/${ALMA}`)).body;
    const record = events.at(-1).payload;
    expect(record).toMatchObject({ event_type: "escalation_decided", operator });
    const attestation = readPasskeyAttestation(record.attestation);
    if (attestation === undefined) throw new Error("the record has no attestation");
    const decided = { escalation_id: id, digest: record.call_digest, decision: "accepted" };
    expect(passkeyFault(attestation, decided)).toBeUndefined();
    expect(passkeyFault(attestation, { ...decided, decision: "rejected" })).toContain("another");
    expect(passkeyFault(attestation, { ...decided, escalation_id: "esc-1" })).toContain("another");
    expect(passkeyFault(attestation, { ...decided, digest: "sha256:0" })).toContain("another call");
    const { x } = attestation.public_key;
    const key = { ...attestation.public_key, y: x };
    expect(passkeyFault({ ...attestation, public_key: key }, decided)).toContain("signature");
    const other = attestation.client_data_json.replace(/^.{8}/, "eyJ0eXBl");
    expect(passkeyFault({ ...attestation, client_data_json: `${other}IA` }, decided)).toBeDefined();
  });

  it("signs the answer with the decision, and no other goes with it", async () => {
    const house = await open();
    const nina = await house.signIn({ name: "Nina" });
    const passkey = await withPasskey(house, nina);
    const body = { task_id: "task-1", reason: "scope_limit", context: "Which room?" };
    const asked = await askHouse(house, ALMA, { method: "ESCALATE", body });
    const id = String(asked.body["result"]?.["escalation_id"]);
    const path = `/api/approvals/${id}`;
    const about = { ...aboutDecision(id), resume_value: { room: 7, n: null } };
    for (const given of [{}, { resume_value: { room: 8, n: null } }, { resume_value: null }]) {
      const assertion = passkey.sign(await challengeFor(nina, about));
      const altered = { decision: "accepted", ...given, assertion };
      expect(await codeOf(nina.post(path, altered))).toEqual(REFUSED);
    }
    const broken = nina.post("/api/passkeys/challenge", { ...about, resume_value: "\ud800" });
    expect(await codeOf(broken)).toEqual([422, "malformed"]);
    const assertion = passkey.sign(await challengeFor(nina, about));
    // The order of members says nothing.
    const resume_value = { n: null, room: 7 };
    const done = await nina.post(path, { decision: "accepted", resume_value, assertion });
    expect(done.status, done.text).toBe(200);
    const { events } = (await nina.get(`/api/agents/${ALMA}`)).body;
    const signed = readPasskeyAttestation(events.at(-1).payload.attestation);
    if (signed === undefined) throw new Error("the record has no attestation");
    const decided = { escalation_id: id, decision: "accepted" };
    expect(signed.resume_value_digest).toBe(canonicalDigest(resume_value));
    expect(passkeyFault(signed, decided)).toBeUndefined();
    const other = { ...signed, resume_value_digest: canonicalDigest({ room: 8, n: null }) };
    expect(passkeyFault(other, decided)).toContain("another decision");
  });

  it("has its signature checked by agtp-keys verify, beside the record's own", async () => {
    const house = await openHouse();
    const nina = await house.signIn({ name: "Nina" });
    const passkey = await withPasskey(house, nina);
    const id = await waiting(house);
    const assertion = passkey.sign(await challengeFor(nina, aboutDecision(id)));
    await nina.post(`/api/approvals/${id}`, { decision: "accepted", assertion });
    const { records } = (await nina.get(`/api/records/${ALMA}`)).body;
    const { keys } = (await nina.get("/api/keys")).body;
    const lines: string[] = records.map(({ jws }: { readonly jws: string }) => jws);
    const program = makeKeysProgram({
      "chain.jws": lines.join("\n"),
      "decision.jws": lines[0] ?? "",
      // Nobody's signature stands on it, so that only the passkey's can tell.
      "forged.jws": unsigned(lines[0] ?? "", { escalation_id: "esc-other" }),
      "bare.jws": unsigned(lines[0] ?? "", { attestation: "fine" }),
    });
    for (const file of ["chain.jws", "decision.jws"]) {
      const { exitCode, out } = await program.run("verify", file, "--key", keys[0].jwk.x);
      expect([exitCode, out]).toEqual([
        0,
        expect.stringContaining("the decision is signed with a passkey of link:Nina"),
      ]);
    }
    for (const [file, fault] of [
      ["forged.jws", "the attestation is for another decision"],
      ["bare.jws", "has no signature of one"],
    ] as const) {
      const { exitCode, out } = await program.run("verify", file);
      expect([exitCode, out]).toEqual([1, expect.stringContaining(fault)]);
    }
  });

  it("who has lost it starts anew with agtpd passkeys --forget", async () => {
    const house = await open();
    const nina = await house.signIn({ name: "Nina" });
    await withPasskey(house, nina);
    const run = (...args: string[]) => runIn(house.directory, passkeysCommand, args);
    expect((await run()).out).toMatch(/^link:Nina: a key, registered \S+, not used\n$/);
    expect((await run("--forget", "link:Otto")).err).toContain('"link:Otto" has no passkey');
    expect((await run("--forget", "link:Nina")).out).toBe("nobody has a passkey\n");
    const id = await waiting(house);
    const plain = { decision: "accepted" };
    expect((await nina.post(`/api/approvals/${id}`, plain)).status).toBe(200);
    expect(house.log.filter(({ event }) => event === "console-passkey-removed")).toMatchObject([
      { person: "link:Nina" },
    ]);
  });

  it("rejects without it, and so does nobody else have to sign", async () => {
    const house = await open();
    const nina = await house.signIn({ name: "Nina" });
    await withPasskey(house, nina);
    const [one, two] = [await waiting(house), await waiting(house, "Grace")];
    const rejected = await nina.post(`/api/approvals/${one}`, { decision: "rejected" });
    expect(rejected.body.escalation.decision.operator.via).toBe("link");
    const otto = await house.signIn({ name: "Otto" });
    expect((await otto.post(`/api/approvals/${two}`, { decision: "accepted" })).status).toBe(200);
  });

  it("has signed one decision about one call, once, in one session", async () => {
    const house = await open();
    const nina = await house.signIn({ name: "Nina" });
    const passkey = await withPasskey(house, nina);
    const [one, other] = [await waiting(house), await waiting(house, "Grace")];
    const approve = (id: string, assertion: object, visitor = nina) =>
      codeOf(visitor.post(`/api/approvals/${id}`, { decision: "accepted", assertion }));
    const signed = async (about: object, visitor = nina) =>
      passkey.sign(await challengeFor(visitor, about));
    // The call was altered: it is another question, under another digest.
    expect(await approve(other, await signed(aboutDecision(one)))).toEqual(REFUSED);
    expect(await approve(one, await signed(aboutDecision(one, "rejected")))).toEqual(REFUSED);
    const stolen = await house.signIn({ name: "Nina" });
    expect(await approve(one, await signed(aboutDecision(one), stolen))).toEqual(REFUSED);
    // A challenge that was refused once is used up.
    const once = await signed(aboutDecision(one));
    expect(await approve(other, once)).toEqual(REFUSED);
    expect(await approve(one, once)).toEqual(REFUSED);
    expect(await approve(one, passkey.sign({ challenge: "A".repeat(43) }))).toEqual(REFUSED);
    const good = await signed(aboutDecision(one));
    expect(await approve(one, good)).toEqual([200, undefined]);
    expect(await approve(one, good)).toEqual(REFUSED);
    expect((await nina.get(`/api/approvals/${other}`)).body.escalation.status).toBe(
      "pending_review",
    );
  });

  it.each([
    ["of another origin", { origin: "https://evil.example" }],
    ["for another host", { rpId: "evil.example" }],
    ["of another kind", { type: "webauthn.create" }],
    ["that nobody was there for", { flags: 0 }],
    ["that names another passkey", { id: "AAAA" }],
  ])("is not believed a signature %s", async (_, lies) => {
    const house = await open();
    const nina = await house.signIn({ name: "Nina" });
    const passkey = await withPasskey(house, nina);
    const id = await waiting(house);
    const assertion = passkey.sign(await challengeFor(nina, aboutDecision(id)), lies);
    const answer = nina.post(`/api/approvals/${id}`, { decision: "accepted", assertion });
    expect(await codeOf(answer)).toEqual(REFUSED);
  });

  it("is not believed a counter that goes back, nor another's passkey", async () => {
    const house = await open();
    const nina = await house.signIn({ name: "Nina" });
    const passkey = await withPasskey(house, nina);
    const approve = async (signing: SoftPasskey, lies: object = {}, visitor = nina) => {
      const id = await waiting(house, String(Math.random()));
      const assertion = signing.sign(await challengeFor(visitor, aboutDecision(id)), lies);
      return visitor.post(`/api/approvals/${id}`, { decision: "accepted", assertion });
    };
    expect((await approve(passkey, { counter: 9 })).status).toBe(200);
    const back = await approve(passkey, { counter: 9 });
    expect([back.status, back.body.error.message]).toEqual([
      403,
      expect.stringContaining("its counter went back"),
    ]);
    const otto = await house.signIn({ name: "Otto" });
    const ottos = await withPasskey(house, otto);
    expect(await codeOf(approve(ottos))).toEqual(REFUSED);
    expect(await codeOf(approve(ottos, { id: passkey.id }))).toEqual(REFUSED);
    expect(await codeOf(approve(passkey, { counter: 10 }, otto))).toEqual(REFUSED);
    expect((await approve(passkey, { counter: 11 })).status).toBe(200);
  });

  it("signs for another passkey, and for one less", async () => {
    const house = await open();
    const nina = await house.signIn({ name: "Nina" });
    const first = await withPasskey(house, nina);
    const list = async () => (await nina.get("/api/passkeys")).body;
    const options = await challengeFor(nina, { for: "registration" });
    const registration = makeSoftPasskey(house.origin).register(options);
    const thief = { name: "a thief's", registration };
    expect(await codeOf(nina.post("/api/passkeys", thief))).toEqual([403, "passkey-required"]);
    const removal = `/api/passkeys/${first.id}`;
    const remove = { action: "remove" };
    expect(await codeOf(nina.post(removal, remove))).toEqual([403, "passkey-required"]);
    const assertion = first.sign(await challengeFor(nina, { for: "addition" }));
    const second = await withPasskey(house, nina, { name: "the other", assertion });
    expect((await list()).passkeys).toMatchObject([{ name: "a key" }, { name: "the other" }]);
    const wrong = second.sign(await challengeFor(nina, { for: "removal", passkey_id: second.id }));
    expect(await codeOf(nina.post(removal, { ...remove, assertion: wrong }))).toEqual(REFUSED);
    const right = second.sign(await challengeFor(nina, { for: "removal", passkey_id: first.id }));
    expect((await nina.post(removal, { ...remove, assertion: right })).status).toBe(200);
    expect((await list()).passkeys).toMatchObject([{ name: "the other" }]);
    expect(house.log.filter(({ event }) => event === "console-passkey-removed")).toMatchObject([
      { person: "link:Nina", passkey: first.id },
    ]);
  });

  it("is a record in the chain of the server when it comes and when it goes, with its key", async () => {
    const house = await open();
    const nina = await house.signIn({ name: "Nina" });
    const passkey = await withPasskey(house, nina);
    const about = { for: "removal", passkey_id: passkey.id };
    const assertion = passkey.sign(await challengeFor(nina, about));
    await nina.post(`/api/passkeys/${passkey.id}`, { action: "remove", assertion });
    await withPasskey(house, nina);
    await runIn(house.directory, passkeysCommand, ["--forget", "link:Nina"]);
    const { chains } = (await nina.get("/api/records")).body;
    const [server] = chains;
    expect(server.name).toContain("(this server)");
    const { records } = (await nina.get(`/api/records/${server.agent_id}`)).body;
    const said = records.map(({ jws }: { jws: string }) => decodeJws(jws)?.payload);
    const who = { id: "link:Nina", name: "Nina" };
    const key = { person: "link:Nina", credential_id: passkey.id, public_key: passkey.jwk };
    expect(said.toReversed()).toMatchObject([
      { event_type: "passkey_registered", operator: { ...who, via: "link" }, ...key },
      { event_type: "passkey_removed", operator: { ...who, via: "passkey" }, ...key },
      { event_type: "passkey_registered", operator: { ...who, via: "link" } },
      { event_type: "passkey_removed", via: "control-socket", person: "link:Nina" },
    ]);
    const program = makeKeysProgram({});
    const journal = join(house.directory, ".agtp/journal");
    const { json } = await program.run(
      ...["verify", "--chain", journal, "--agent", server.agent_id, "--json"],
    );
    expect(json).toMatchObject({ ok: true, records: 4 });
  });

  it("has eight at most, each for one person, and no viewer has any", async () => {
    const house = await open();
    const nina = await house.signIn({ name: "Nina" });
    const first = await withPasskey(house, nina);
    for (let count = 1; count < 8; count += 1) {
      const assertion = first.sign(await challengeFor(nina, { for: "addition" }));
      await withPasskey(house, nina, { assertion });
    }
    const options = await challengeFor(nina, { for: "registration" });
    const ninth = { name: "9", registration: makeSoftPasskey(house.origin).register(options) };
    const assertion = first.sign(await challengeFor(nina, { for: "addition" }));
    const full = [409, "passkeys-full"];
    expect(await codeOf(nina.post("/api/passkeys", { ...ninth, assertion }))).toEqual(full);
    const otto = await house.signIn({ name: "Otto" });
    const registration = first.register(await challengeFor(otto, { for: "registration" }));
    expect(await codeOf(otto.post("/api/passkeys", { name: "mine", registration }))).toEqual(full);
    const viewer = await house.signIn({ name: "Vera", role: "viewer" });
    const asked = viewer.post("/api/passkeys/challenge", { for: "registration" });
    expect(await codeOf(asked)).toEqual([403, "viewer"]);
  });

  it("are somebody's by no more octets than a browser takes, and by nobody else's", async () => {
    const house = await open();
    const family = "Преображенская-Вознесенская";
    const handles = new Set<string>();
    for (const name of [
      `Екатерина ${family}`,
      `Александра ${family}`,
      `${"x".repeat(63)}a`,
      "Ada",
    ]) {
      const visitor = await house.signIn({ name });
      const { status, body } = await visitor.post("/api/passkeys/challenge", {
        for: "registration",
      });
      expect(status).toBe(200);
      const octets = Buffer.from(body.options.user.id, "base64url");
      expect(octets.length).toBeGreaterThan(0);
      expect(octets.length).toBeLessThanOrEqual(64);
      handles.add(octets.toString("hex"));
    }
    expect(handles.size).toBe(4);
  });

  it.each([
    ["nothing", undefined],
    ["a text", "x"],
    ["an object", { response: {} }],
    ["no client data", { response: { clientDataJSON: "!" } }],
  ])("registers none by %s", async (_, registration) => {
    const house = await open();
    const nina = await house.signIn({ name: "Nina" });
    const { status } = await nina.post("/api/passkeys", { name: "x", registration });
    expect([403, 422]).toContain(status);
    expect((await nina.get("/api/passkeys")).body.passkeys).toEqual([]);
  });

  it("registers none for another origin, or under another's challenge", async () => {
    const house = await open();
    const nina = await house.signIn({ name: "Nina" });
    const otto = await house.signIn({ name: "Otto" });
    const passkey = makeSoftPasskey(house.origin);
    const register = (registration: object) =>
      codeOf(nina.post("/api/passkeys", { name: "x", registration }));
    const about = { for: "registration" };
    const options = await challengeFor(nina, about);
    const abroad = passkey.register(options, { origin: "https://evil.example" });
    expect(await register(abroad)).toEqual(REFUSED);
    expect(await register(passkey.register(await challengeFor(otto, about)))).toEqual(REFUSED);
    const elsewhere = { rpId: "evil.example" };
    const other = passkey.register(await challengeFor(nina, about), elsewhere);
    expect(await register(other)).toEqual(REFUSED);
  });
});
