import { describe, expect, it } from "vitest";
import type { Peer } from "../../../src/dispatch/caller/peer.ts";
import { openDelivery } from "../../../src/modules/delivery/module.ts";
import { makeDirectory } from "../../support/directory.ts";
import {
  openServer,
  shareServer,
  type TestReply,
  type TestServer,
} from "../../support/dispatch.ts";
import { AGENT, ISSUER, STRANGER } from "../../support/genesis.ts";
import {
  ALICE,
  BOB,
  CAROL,
  hostedFiles,
  ISSUER_PEER,
  makeCertificate,
  peerWith,
  UNKNOWN,
} from "../../support/hosted-agents.ts";
import { makeLastingStore, openTestState } from "../../support/state.ts";

const CONTENT = {
  event_type: "certificate_revoked",
  agent_id: ALICE,
  certificate_serial: "00:1F",
  revocation_reason: "key-compromise",
};
const QUERY = { method: "QUERY", path: "/lists", headers: { "Agent-ID": ALICE } };

function notify(
  server: TestServer,
  content: object | string = CONTENT,
  peer: Partial<Peer> = ISSUER_PEER,
  headers: Readonly<Record<string, string>> = {},
): Promise<TestReply> {
  const body = { recipient: "infrastructure:broadcast", content };
  return server.send({ method: "NOTIFY", headers, body }, peer);
}

// AGTP-CERT "Revocation"
describe("NOTIFY of a revoked certificate", () => {
  const shared = shareServer(hostedFiles());

  it("has the certificate refused from the next request on, on open connections too", async () => {
    const server = await openServer(hostedFiles());
    const peer = peerWith({ serialNumber: "1f", agent: { agentId: ALICE } });
    expect((await server.send(QUERY, peer)).status).toBe(200);
    const receipt = await notify(server);
    expect(receipt.status).toBe(200);
    expect(receipt.body["result"]).toEqual({
      notification_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      recipient: "infrastructure:broadcast",
      delivered: true,
    });
    const refused = await server.send(QUERY, peer);
    expect([refused.status, refused.body["error"]?.["code"]]).toEqual([401, "certificate-revoked"]);
    const other = peerWith({ serialNumber: "20", agent: { agentId: ALICE } });
    expect((await server.send(QUERY, other)).status).toBe(200);
  });

  it("counts for the agent that it names alone", async () => {
    const server = await openServer(hostedFiles());
    await notify(server);
    const peer = peerWith({ serialNumber: "1f", agent: { agentId: BOB } });
    const request = { ...QUERY, headers: { "Agent-ID": BOB } };
    expect((await server.send(request, peer)).status).toBe(200);
  });

  it("takes away what the certificate proved without an Agent-ID, too", async () => {
    const server = await openServer(hostedFiles());
    const issuer = peerWith({ key: ISSUER, serialNumber: "1f" });
    expect((await notify(server, CONTENT, issuer)).status).toBe(200);
    const body = { agent_id: ALICE, reason: "a test" };
    const revoked = await server.send({ method: "REVOKE", body }, issuer);
    expect([revoked.status, revoked.body["error"]?.["code"]]).toEqual([401, "certificate-revoked"]);
    const renewed = peerWith({ key: ISSUER, serialNumber: "20" });
    expect((await server.send({ method: "REVOKE", body }, renewed)).status).toBe(200);
  });

  it("is taken a thousand times for one agent, and from operators however often", async () => {
    const operator = { certificate: makeCertificate({ key: AGENT }) };
    const fingerprint = operator.certificate.keyFingerprint;
    const server = await openServer(hostedFiles({ operator_certificates: [fingerprint] }));
    const revoke = async (serial: number, peer: Partial<Peer> = ISSUER_PEER) => {
      const content = { ...CONTENT, certificate_serial: `abba${serial}` };
      const { status, body } = await notify(server, content, peer);
      return [status, body["error"]?.["code"]];
    };
    const serials = Array.from({ length: 1_000 }, (_, at) => at + 1);
    const answers = await Promise.all(serials.map((serial) => revoke(serial)));
    expect(answers.filter(([status]) => status !== 200)).toEqual([]);
    expect(await revoke(1_001)).toEqual([429, "rate-limited"]);
    // What holds already is no more than it was.
    expect(await revoke(7)).toEqual([200, undefined]);
    expect(await revoke(1_001, operator)).toEqual([200, undefined]);
  });

  it("leaves an operator in office", async () => {
    const operator = makeCertificate({ key: AGENT, serialNumber: "1f" });
    const files = hostedFiles({ operator_certificates: [operator.spkiFingerprint] });
    const server = await openServer(files);
    await notify(server);
    const body = { agent_id: ALICE, reason: "a test" };
    const reply = await server.send({ method: "REVOKE", body }, { certificate: operator });
    expect(reply.status).toBe(200);
  });

  it.each<[string, Partial<Peer>, Readonly<Record<string, string>>, number, string]>([
    ["nobody", {}, {}, 262, "credentials-missing"],
    ["the agent, by its word", {}, { "Agent-ID": ALICE }, 401, "genesis-issuer-cert-required"],
    ["another issuer", peerWith({ key: STRANGER }), {}, 403, "lifecycle-forbidden"],
    ["a certificate", peerWith(), {}, 403, "lifecycle-forbidden"],
  ])("is not taken from %s", async (_, peer, headers, status, code) => {
    const server = shared();
    const reply = await notify(server, CONTENT, peer, headers);
    expect([reply.status, reply.body["error"]?.["code"]]).toEqual([status, code]);
    const own = peerWith({ serialNumber: "1f", agent: { agentId: ALICE } });
    expect((await server.send(QUERY, own)).status).toBe(200);
  });

  it.each([
    { certificate_serial: "xyz" },
    { certificate_serial: 31 },
    { certificate_serial: "" },
    { certificate_serial: "f".repeat(41) },
    { agent_id: 7 },
    { agent_id: undefined },
  ])("answers 422 for %j", async (changes) => {
    expect((await notify(shared(), { ...CONTENT, ...changes })).status).toBe(422);
  });

  it("answers an operator 404 for an agent that is not hosted", async () => {
    const operator = makeCertificate({ key: AGENT });
    const files = hostedFiles({ operator_certificates: [operator.keyFingerprint] });
    const server = await openServer(files);
    const reply = await notify(
      server,
      { ...CONTENT, agent_id: UNKNOWN },
      { certificate: operator },
    );
    expect([reply.status, reply.body["error"]?.["code"]]).toEqual([404, "agent-not-found"]);
  });
});

const TABLES = {
  // Nobody listens there.
  webhooks: { recipients: { desk: "http://127.0.0.1:9/hook" } },
  groups: { house: ["bob", "webhook:desk", "ghost"], ghosts: ["ghost"] },
};

/** NOTIFY as alice, of something about a boat. */
function tell(
  server: TestServer,
  recipient: unknown,
  more: Readonly<Record<string, unknown>> = {},
  agentId = ALICE,
): Promise<TestReply> {
  const body = { recipient, content: "the boat leaves at nine", ...more };
  return server.send({ method: "NOTIFY", headers: { "Agent-ID": agentId }, body });
}

async function inboxOf(server: TestServer, agentId: string) {
  const request = { method: "QUERY", path: "/inbox", headers: { "Agent-ID": agentId } };
  const { entries } = (await server.send(request)).body["result"] as unknown as {
    readonly entries: readonly Readonly<Record<string, unknown>>[];
  };
  return entries;
}

const codeOf = ({ status, body }: TestReply) => [status, body["error"]?.["code"]];

/** A deployment with a group that has a member nobody knows, which is a warning. */
const openHouse = () => openServer(hostedFiles({}, TABLES), { isClean: false });

// AGTP "NOTIFY"
describe("NOTIFY", () => {
  const shared = shareServer(hostedFiles());

  it.each([
    {},
    { recipient: "bob" },
    { content: {} },
    { recipient: "", content: {} },
    { recipient: [], content: {} },
    { recipient: ["bob", 7], content: {} },
    { recipient: Array.from({ length: 65 }, (_, n) => `agent-${n}`), content: {} },
    { recipient: "x".repeat(513), content: {} },
    { recipient: "bob", content: 7 },
    { recipient: "bob", content: "x".repeat(65_535) },
    { recipient: "bob", content: { text: "\u00e9".repeat(32_768) } },
    { recipient: "bob", content: {}, urgency: "loud" },
    { recipient: "bob", content: {}, delivery_guarantee: "perhaps" },
    { recipient: "bob", content: {}, notification_id: "a b" },
    { recipient: "bob", content: {}, notification_id: "x".repeat(257) },
    { recipient: "bob", content: {}, expiry: "soon" },
    { recipient: "bob", content: {}, expiry: 0 },
    { recipient: "bob", content: {}, expiry: "2020-01-01T00:00:00Z" },
    { recipient: "bob", content: {}, expiry: "2026-13-01T00:00:00Z" },
    { recipient: "bob", content: {}, expiry: "2126-02-31T00:00:00Z" },
    { recipient: "infrastructure:broadcast", content: "certificate_revoked" },
    { recipient: "infrastructure:broadcast", content: { event_type: "something else" } },
  ])("answers 422 for %j", async (body) => {
    const headers = { "Agent-ID": BOB };
    const reply = await shared().send({ method: "NOTIFY", headers, body });
    expect(codeOf(reply)).toEqual([422, "schema-validation-failed"]);
    const { notifications } = await shared().kept.once(openDelivery);
    expect(notifications.sentBy(BOB)).toEqual([]);
  });

  it.each([
    "somebody",
    ["somebody", "webhook:desk"],
    UNKNOWN,
    "group:none",
    "webhook:toString",
    "infrastructure:elsewhere",
    ["infrastructure:broadcast"],
    "https://desk.example/",
  ])("answers 404 where it reaches nobody: %j", async (recipient) => {
    expect(codeOf(await tell(shared(), recipient))).toEqual([404, "recipient-not-found"]);
  });

  it("says nothing of agents that its sender is not shown", async () => {
    const tables = { ...TABLES, agents: { disclosure: "private" } };
    const server = await openServer(hostedFiles({}, tables), { isClean: false });
    expect(codeOf(await tell(server, "bob"))).toEqual([404, "recipient-not-found"]);
    const byId = await tell(server, BOB);
    expect(byId.body["result"]).toMatchObject({
      receipts: [{ recipient: BOB, agent_id: BOB, state: "delivered" }],
    });
    const grouped = await tell(server, "group:house", { notification_id: "boat" });
    expect(grouped.status).toBe(200);
    const inspect = { target: "notification", notification_id: "boat" };
    const headers = { "Agent-ID": ALICE };
    const inspected = await server.send({ method: "INSPECT", headers, body: inspect });
    expect(inspected.status).toBe(200);
    for (const { text } of [grouped, inspected]) {
      expect(text).toContain('"recipient":"group:house"');
      expect(text).not.toContain('"bob"');
      expect(text).not.toContain(BOB);
    }
    expect(await inboxOf(server, BOB)).toHaveLength(2);
  });

  it("is for agents of this server alone", async () => {
    const server = await openServer(hostedFiles({ unknown_agents: "accept" }));
    expect(codeOf(await tell(server, "bob", {}, UNKNOWN))).toEqual([401, "agent-unauthenticated"]);
    const anonymous = { method: "NOTIFY", body: { recipient: "bob", content: "x" } };
    expect(codeOf(await server.send(anonymous))).toEqual([262, "credentials-missing"]);
    expect(codeOf(await server.send(anonymous, ISSUER_PEER))).toEqual([262, "credentials-missing"]);
    expect(await inboxOf(server, BOB)).toEqual([]);
  });

  it("puts what it is given into the recipient's inbox, and nobody else's", async () => {
    const server = await openServer(hostedFiles());
    const reply = await tell(server, "bob", { urgency: "critical", content: { boat: 9 } });
    expect(reply.status).toBe(200);
    const { notification_id: id, ...receipt } = reply.body["result"] ?? {};
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(receipt).toEqual({
      recipient: "bob",
      urgency: "critical",
      delivery_guarantee: "at_least_once",
      sent_at: expect.any(String),
      expires_at: expect.any(String),
      state: "delivered",
      delivered: true,
      receipts: [{ recipient: "bob", agent_id: BOB, state: "delivered" }],
    });
    expect(await inboxOf(server, BOB)).toEqual([
      {
        delivery_id: expect.any(String),
        notification_id: id,
        status: "unread",
        sender: { agent_id: ALICE, name: "alice" },
        urgency: "critical",
        sent_at: receipt["sent_at"],
        expires_at: receipt["expires_at"],
        content: { boat: 9 },
      },
    ]);
    expect(await inboxOf(server, ALICE)).toEqual([]);
    expect(await inboxOf(server, CAROL)).toEqual([]);
  });

  it("reaches a group, and says who of it got nothing", async () => {
    const server = await openHouse();
    expect(server.problems).toEqual([
      {
        file: "agtp-server.toml",
        key: "groups.house[2]",
        message: 'no agent is called "ghost"',
        severity: "warning",
      },
      expect.objectContaining({ key: "groups.ghosts[0]" }),
    ]);
    const { status, body } = await tell(server, ["group:house", "carol", "nobody"]);
    expect(status).toBe(200);
    expect(body["result"]).toMatchObject({
      state: "partial",
      delivered: false,
      receipts: [
        { recipient: "bob", state: "delivered" },
        { recipient: "webhook:desk", state: "queued" },
        { recipient: "ghost", state: "failed", reason: "recipient-not-found" },
        { recipient: "carol", state: "delivered" },
        { recipient: "nobody", state: "failed", reason: "recipient-not-found" },
      ],
    });
    expect(await inboxOf(server, CAROL)).toHaveLength(1);
    expect(codeOf(await tell(server, "group:ghosts"))).toEqual([404, "recipient-not-found"]);
  });

  it("says 410 of an agent that is retired, and keeps for one that is suspended", async () => {
    const server = await openServer(hostedFiles());
    const change = (method: string, agent_id: string) =>
      server.send({ method, body: { agent_id, reason: "a test" } }, ISSUER_PEER);
    await change("DEACTIVATE", ALICE);
    expect((await tell(server, "alice", {}, BOB)).body["result"]?.["state"]).toBe("delivered");
    await change("REINSTATE", ALICE);
    expect(await inboxOf(server, ALICE)).toHaveLength(1);
    await change("REVOKE", ALICE);
    for (const named of ["alice", ["alice", ALICE, `agtp://${ALICE}`]]) {
      expect(codeOf(await tell(server, named, {}, BOB))).toEqual([410, "agent-retired"]);
    }
    const { body } = await tell(server, ["alice", "bob"], {}, BOB);
    expect(body["result"]?.["receipts"]?.["0"]).toMatchObject({ reason: "agent-retired" });
  });

  it.each(["at_most_once", "at_least_once", "exactly_once"])(
    "delivers an id of its sender once, and answers alike: %s",
    async (delivery_guarantee) => {
      const server = await openHouse();
      const more = { notification_id: "boat-1", delivery_guarantee };
      const replies = await Promise.all([
        tell(server, "group:house", more),
        tell(server, "group:house", more),
      ]);
      replies.push(await tell(server, "group:house", more));
      for (const { status, body } of replies) {
        expect([status, body["result"]]).toEqual([200, replies[0]?.body["result"]]);
        expect(body["result"]).toMatchObject({ notification_id: "boat-1", delivery_guarantee });
      }
      expect(await inboxOf(server, BOB)).toHaveLength(1);
      expect(await server.state.store.list("webhook-deliveries")).toHaveLength(1);
    },
  );

  it("remembers an id through a restart", async () => {
    const store = makeLastingStore();
    const open = async () =>
      openServer(hostedFiles(), { state: await openTestState(makeDirectory(), store) });
    const more = { notification_id: "boat-1", delivery_guarantee: "exactly_once" };
    const first = await tell(await open(), "bob", more);
    const second = await open();
    expect((await tell(second, "bob", more)).body["result"]).toEqual(first.body["result"]);
    expect(await inboxOf(second, BOB)).toHaveLength(1);
  });

  it("knows the same again, in whatever order its members are written", async () => {
    const server = await openServer(hostedFiles());
    const more = {
      notification_id: "boat-1",
      content: { boat: "nine", from: { pier: 1, side: 2 } },
    };
    const first = await tell(server, "bob", more);
    const content = { from: { side: 2, pier: 1 }, boat: "nine" };
    const again = await tell(server, "bob", { ...more, content });
    expect(again.body["result"]).toEqual(first.body["result"]);
    expect(await inboxOf(server, BOB)).toHaveLength(1);
  });

  it("takes an id for one notification of one sender", async () => {
    const server = await openServer(hostedFiles());
    const more = { notification_id: "boat-1" };
    await tell(server, "bob", more);
    for (const other of [{ content: "at ten" }, { urgency: "critical" }, { expiry: "PT1H" }]) {
      const reply = await tell(server, "bob", { ...more, ...other });
      expect(codeOf(reply)).toEqual([409, "idempotency-key-reuse"]);
    }
    expect((await tell(server, "bob", more, CAROL)).status).toBe(200);
    expect(await inboxOf(server, BOB)).toHaveLength(2);
  });

  it("delivers once under an Idempotency-Key", async () => {
    const server = await openServer(hostedFiles());
    const headers = { "Agent-ID": ALICE, "Idempotency-Key": "k-1" };
    const body = { recipient: "bob", content: "x", delivery_guarantee: "exactly_once" };
    const first = await server.send({ method: "NOTIFY", headers, body });
    const second = await server.send({ method: "NOTIFY", headers, body });
    expect(second.body).toEqual(first.body);
    expect(await inboxOf(server, BOB)).toHaveLength(1);
  });

  it.each([
    ["PT10M", 600],
    ["2h", 7200],
    [90, 90],
    ["P90D", 30 * 86_400],
    ["2999-01-01T00:00:00Z", 30 * 86_400],
    [undefined, 7 * 86_400],
  ])("counts an expiry of %j, up to a month", async (expiry, seconds) => {
    const { body } = await tell(shared(), "bob", expiry === undefined ? {} : { expiry });
    const { sent_at: sentAt, expires_at: expiresAt } = body["result"] ?? {};
    const lifetime = Date.parse(String(expiresAt)) - Date.parse(String(sentAt));
    expect(Math.round(lifetime / 1000)).toBe(seconds);
  });

  it("takes the words of the reference, and an event without a recipient for one's own", async () => {
    const server = await openServer(hostedFiles());
    const headers = { "Agent-ID": BOB };
    const body = { event: "tick", payload: { n: 1 }, priority: "high" };
    const reply = await server.send({ method: "NOTIFY", headers, body });
    expect(reply.body["result"]).toMatchObject({ recipient: BOB, urgency: "critical" });
    await tell(server, "bob", { content: undefined, message: "hello", priority: "low" });
    const contents = (await inboxOf(server, BOB)).map(({ content, urgency }) => [content, urgency]);
    expect(contents).toEqual([
      ["hello", "background"],
      [{ event: "tick", payload: { n: 1 } }, "critical"],
    ]);
  });

  it("takes so many of one sender within a minute", async () => {
    const server = await openServer(hostedFiles());
    for (let n = 0; n < 120; n += 1) expect((await tell(server, "bob")).status).toBe(200);
    const reply = await tell(server, "bob");
    expect(codeOf(reply)).toEqual([429, "rate-limited"]);
    expect(reply.body).toMatchObject({ scope: "notify", retry_after_seconds: expect.any(Number) });
    expect((await tell(server, "bob", {}, CAROL)).status).toBe(200);
  });

  it("says 429 where nobody has room", async () => {
    const server = await openHouse();
    const { webhooks } = await server.kept.once(openDelivery);
    const many = Array.from({ length: 1000 }, (_, n) => ({
      ...{ id: `m-${n}`, url: TABLES.webhooks.recipients.desk, body: {} },
      expiresAt: Date.now() + 60_000,
    }));
    await webhooks.keep(many, []);
    const reply = await tell(server, "webhook:desk");
    expect(codeOf(reply)).toEqual([429, "rate-limited"]);
    expect(reply.body).toMatchObject({
      scope: "recipient",
      error: { details: { receipts: [{ state: "failed", reason: "webhook-queue-full" }] } },
    });
    expect((await tell(server, ["webhook:desk", "bob"])).body["result"]?.["state"]).toBe("partial");
  });

  it("keeps names of members that objects have by themselves apart from them", async () => {
    const server = await openServer(hostedFiles());
    const body = '{"recipient":"bob","content":{"__proto__":{"x":1},"constructor":2}}';
    const headers = { "Agent-ID": ALICE };
    expect((await server.send({ method: "NOTIFY", headers, body })).status).toBe(200);
    const [entry] = await inboxOf(server, BOB);
    expect(JSON.stringify(entry?.["content"])).toBe('{"__proto__":{"x":1},"constructor":2}');
  });
});

// AGTP "INSPECT"
describe("INSPECT of a notification", () => {
  it("shows its sender how it stands, and others nothing", async () => {
    const server = await openServer(hostedFiles({ inspect_acl: "public" }));
    await tell(server, "bob", { notification_id: "boat-1" });
    const inspect = (agentId: string, notification_id: string | undefined = "boat-1") => {
      const body = { target: "notification", notification_id };
      return server.send({ method: "INSPECT", headers: { "Agent-ID": agentId }, body });
    };
    expect((await inspect(ALICE)).body["result"]).toMatchObject({
      target: "notification",
      notification_id: "boat-1",
      state: "delivered",
      receipts: [{ recipient: "bob", state: "delivered", delivered_at: expect.any(String) }],
    });
    expect(codeOf(await inspect(BOB))).toEqual([404, "record-not-found"]);
    expect(codeOf(await inspect(ALICE, "boat-2"))).toEqual([404, "record-not-found"]);
    const headers = { "Agent-ID": ALICE };
    const body = { target: "notification" };
    expect((await server.send({ method: "INSPECT", headers, body })).status).toBe(422);
  });
});
