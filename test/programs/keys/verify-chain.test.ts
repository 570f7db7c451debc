import { createPrivateKey } from "node:crypto";
import { mkdirSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import type { JsonRecord } from "../../../src/base/json-value.ts";
import { challengeOf } from "../../../src/identity/passkey-attestation.ts";
import { reply, startPeer } from "../../support/agtp-peer.ts";
import {
  AGENT,
  alterRecord,
  type ChainedRecord,
  makeChain,
  OTHER_AGENT,
} from "../../support/attribution-chain.ts";
import { type KeysProgram, makeKeysProgram } from "../../support/keys-program.ts";
import { makeSoftPasskey } from "../../support/soft-passkey.ts";

const KEY = ".agtp/keys/signing.pem";

interface Prepared {
  readonly program: KeysProgram;
  readonly records: readonly ChainedRecord[];
}

async function prepare(length = 5): Promise<Prepared> {
  const program = makeKeysProgram({ "journal/notes.txt": "", file: "" });
  await program.run("signing");
  const key = createPrivateKey(program.read(KEY));
  const records = makeChain({ agentId: AGENT, key, length });
  writeJournal(program, records);
  return { program, records };
}

function writeJournal(program: KeysProgram, records: readonly ChainedRecord[]): void {
  program.write("journal/00000001.jws", records.map(({ jws }) => `${jws}\n`).join(""));
}

const CHAIN = ["verify", "--chain", "journal", "--agent", AGENT, "--key", KEY];

describe("agtp-keys verify --chain, of a journal", () => {
  it("reports a chain that holds", async () => {
    const { program, records } = await prepare();
    const { exitCode, out, err } = await program.run(...CHAIN);
    expect([exitCode, err]).toEqual([0, ""]);
    expect(out.split("\n")).toEqual([
      `agent       ${AGENT}`,
      "source      journal",
      "records     5",
      `first       2026-01-01T00:00:00.000Z QUERY /rooms/0 200 ${records[0]?.auditId}`,
      `last        2026-01-01T00:00:04.000Z QUERY /rooms/4 200 ${records[4]?.auditId}`,
      "signatures  5 verified, 0 unsigned",
      "chain       holds",
      "",
    ]);
  });

  it("reports as JSON", async () => {
    const { program, records } = await prepare(2);
    const { json } = await program.run(...CHAIN, "--json");
    expect(json).toEqual({
      ok: true,
      source: "journal",
      agent_id: AGENT,
      head: records[1]?.auditId,
      records: 2,
      first: {
        audit_id: records[0]?.auditId,
        issued_at: "2026-01-01T00:00:00.000Z",
        method: "QUERY",
        path: "/rooms/0",
        status: 200,
      },
      last: expect.objectContaining({ audit_id: records[1]?.auditId, path: "/rooms/1" }),
      signatures: { verified: 2, unsigned: 0, unchecked: 0 },
      broken: null,
    });
  });

  it("names the first broken link, and exits 1", async () => {
    const { program, records } = await prepare();
    const altered = alterRecord(records[2]!, (payload) => ({ ...payload, path: "/x" }));
    writeJournal(program, [...records.slice(0, 2), altered, ...records.slice(3)]);
    const { exitCode, out } = await program.run(...CHAIN);
    expect(exitCode).toBe(1);
    expect(out).toContain(`broken      missing-record: record ${records[2]?.auditId} is missing`);
    expect(out).toContain("records     2\n");
    const { json } = await program.run(...CHAIN, "--json");
    expect(json).toMatchObject({
      ok: false,
      broken: { kind: "missing-record", audit_id: records[2]?.auditId },
    });
  });

  it("says that signatures were not checked without a key", async () => {
    const { program } = await prepare();
    const { exitCode, out } = await program.run(...CHAIN.slice(0, -2));
    expect(exitCode).toBe(0);
    expect(out).toContain("0 verified, 0 unsigned, 5 not checked for want of --key");
  });

  it("exits 1 for an agent without records, 2 for what is no journal", async () => {
    const { program } = await prepare();
    const unknown = await program.run("verify", "--chain", "journal", "--agent", OTHER_AGENT);
    expect(unknown).toMatchObject({ exitCode: 1, out: "" });
    expect(unknown.err).toBe(`agtp-keys: journal has no record of agent ${OTHER_AGENT}\n`);
    for (const chain of ["missing", "file", "file/journal", "http://localhost"]) {
      const { exitCode, err } = await program.run("verify", "--chain", chain, "--agent", AGENT);
      expect(exitCode, chain).toBe(2);
      expect(err).toContain("expected --chain to be a journal directory or agtp://HOST");
      const args = ["--chain", "journal", "--archive", chain, "--agent", AGENT];
      const archived = await program.run("verify", ...args);
      expect(archived.exitCode, chain).toBe(2);
      expect(archived.err).toContain("expected --archive to be a directory");
    }
  });

  it("shows nothing of a hostile record that reaches a terminal", async () => {
    const { program } = await prepare();
    const change = (payload: Record<string, unknown>) => ({ ...payload, path: "/\u001b[2J" });
    writeJournal(program, makeChain({ agentId: AGENT, length: 1, change }));
    const { out } = await program.run("verify", "--chain", "journal", "--agent", AGENT);
    expect(out).not.toContain("\u001b");
  });
});

describe("agtp-keys verify --chain, over INSPECT", () => {
  interface Served extends Prepared {
    readonly args: readonly string[];
    readonly callers: (string | undefined)[];
  }

  /** A server that answers with these records, and for one Audit-ID with something else. */
  async function serve(
    answers: ReadonlyMap<string, Buffer> = new Map(),
    length = 3,
  ): Promise<Served> {
    const prepared = await prepare(length);
    const { program, records } = prepared;
    const callers: (string | undefined)[] = [];
    const peer = await startPeer((socket, request) => {
      callers.push(request.headers.get("agent-id"));
      const { target, audit_id: auditId } = JSON.parse(Buffer.from(request.body).toString());
      const head = { audit_id: records.at(-1)?.auditId, target };
      const found = records.find((record) => record.auditId === auditId);
      const result = target === "chain_head" ? head : found;
      const missing = reply('{"error":{"code":"record-not-found"}}', "404 Not Found");
      const known = result && reply(JSON.stringify({ status: "ok", result }));
      socket.write(answers.get(auditId ?? target) ?? known ?? missing);
    });
    onTestFinished(() => peer.close());
    mkdirSync(`${program.directory}/.agtp/tls`);
    program.write(".agtp/tls/cert.pem", peer.cert);
    const uri = `agtp://localhost:${peer.port}`;
    return {
      ...prepared,
      callers,
      args: ["verify", "--chain", uri, "--agent", AGENT, "--key", KEY],
    };
  }

  it("ends where the server says that older records were archived", async () => {
    const answers = new Map<string, Buffer>();
    const { program, args, records } = await serve(answers);
    const archived = records[0]?.auditId ?? "";
    answers.set(archived, reply('{"error":{"code":"record-archived"}}', "410 Gone"));
    const { exitCode, json } = await program.run(...args, "--json");
    expect(exitCode).toBe(0);
    expect(json).toMatchObject({ records: 2, broken: null, archived });
    expect((await program.run(...args)).out).toContain(`cut         record ${archived} and those`);
    answers.set(archived, reply('{"error":{"code":"agent-retired"}}', "410 Gone"));
    expect((await program.run(...args)).exitCode).toBe(1);
  });

  it("is cut where a trusted record is neither served nor archived", async () => {
    const answers = new Map<string, Buffer>();
    const { program, args, records } = await serve(answers, 4);
    answers.set(
      records[1]?.auditId ?? "",
      reply('{"error":{"code":"record-archived"}}', "410 Gone"),
    );
    mkdirSync(`${program.directory}/archive`);
    const older = records.slice(0, 2).map(({ jws }) => `${jws}\n`);
    program.write("archive/00000001.jws", older.join(""));
    const kindOf = async (head = "", ...archive: readonly string[]) => {
      const { json } = await program.run(...args, ...archive, "--head", head, "--json");
      return (json["broken"] as { kind: string } | null)?.kind;
    };
    const ARCHIVE = ["--archive", "archive"];
    const newer = makeChain({ agentId: AGENT, length: 1 })[0]?.auditId;
    expect(await kindOf(newer)).toBe("truncated");
    expect(await kindOf(newer, ...ARCHIVE)).toBe("truncated");
    // Nobody but the archive has the first one.
    expect(await kindOf(records[0]?.auditId)).toBe("truncated");
    expect(await kindOf(records[0]?.auditId, ...ARCHIVE)).toBeUndefined();
    for (const { auditId } of records.slice(1)) {
      expect(await kindOf(auditId)).toBeUndefined();
      expect(await kindOf(auditId, ...ARCHIVE)).toBeUndefined();
    }
  });

  it("goes on in an archive, where both meet", async () => {
    const answers = new Map<string, Buffer>();
    const { program, args, records } = await serve(answers);
    const gone = reply('{"error":{"code":"record-archived"}}', "410 Gone");
    answers.set(records[1]?.auditId ?? "", gone);
    mkdirSync(`${program.directory}/archive`);
    const archive = (count: number): void => {
      const lines = records.slice(0, count).map(({ jws }) => `${jws}\n`);
      program.write("archive/00000001.jws", lines.join(""));
    };
    archive(2);
    const { json } = await program.run(...args, "--archive", "archive", "--json");
    expect(json).toMatchObject({ records: 3, broken: null, signatures: { verified: 3 } });
    expect(json).toMatchObject({ first: { audit_id: records[0]?.auditId } });
    expect(json).not.toHaveProperty("archived");
    for (const count of [1, 0]) {
      archive(count);
      const short = await program.run(...args, "--archive", "archive", "--json");
      expect(short).toMatchObject({
        exitCode: 1,
        json: { broken: { kind: "truncated", audit_id: records[1]?.auditId } },
      });
    }
    archive(3);
    const more = await program.run(...args, "--archive", "archive");
    expect(more).toMatchObject({ exitCode: 1, err: expect.stringContaining("verify once more") });
    expect((await program.run(...args, "--archive", "none")).exitCode).toBe(2);
  });

  it("walks record by record, as the agent itself or somebody else", async () => {
    const { program, args, callers } = await serve();
    const { exitCode, out, err } = await program.run(...args);
    expect([exitCode, err]).toEqual([0, ""]);
    expect(out).toContain("records     3\n");
    expect(callers).toEqual([AGENT, AGENT, AGENT, AGENT]);
    await program.run(...args, "--agent-id", OTHER_AGENT);
    expect(callers.slice(4)).toEqual(Array(4).fill(OTHER_AGENT));
  });

  it("does not believe a server that exchanges a record, or that has lost one", async () => {
    const { records } = await prepare(3);
    const altered = alterRecord(records[1]!, (payload) => ({ ...payload, status: 500 }));
    const cases = [
      [reply(JSON.stringify({ result: { jws: altered.jws } })), "hash-mismatch"],
      [reply("{}", "404 Not Found"), "missing-record"],
    ] as const;
    for (const [answer, kind] of cases) {
      const answers = new Map<string, Buffer>();
      const { program, args, records: served } = await serve(answers);
      answers.set(served[1]?.auditId ?? "", answer);
      const { exitCode, json } = await program.run(...args, "--json");
      expect(exitCode).toBe(1);
      expect(json).toMatchObject({ records: 1, broken: { kind, audit_id: served[1]?.auditId } });
    }
  });

  it("exits 1 when the server refuses, or knows no record of the agent", async () => {
    const refusal = reply('{"error":{"code":"inspect-forbidden"}}', "403 Forbidden");
    const refused = await serve(new Map([["chain_head", refusal]]));
    expect(await refused.program.run(...refused.args)).toMatchObject({
      exitCode: 1,
      err: "agtp-keys: INSPECT was refused: 403 inspect-forbidden\n",
    });
    const unknown = await serve(new Map([["chain_head", reply("{}", "404 Not Found")]]));
    expect((await unknown.program.run(...unknown.args)).exitCode).toBe(1);
  });

  it("exits 2 when there is no answer that could be used", async () => {
    const senseless = await serve(new Map([["chain_head", reply('{"result":{}}')]]));
    expect((await senseless.program.run(...senseless.args)).exitCode).toBe(2);
    const { program } = await prepare();
    const args = ["verify", "--chain", "agtp://localhost:1", "--agent", AGENT];
    expect((await program.run(...args)).exitCode).toBe(2);
    const half = await program.run(...args, "--client-cert", KEY);
    expect(half.err).toContain("expected --client-cert and --client-key together");
  });
});

/** A chain whose second record is a decision that a passkey signed. */
async function approve(change: (payload: JsonRecord) => JsonRecord = (one) => one) {
  const program = makeKeysProgram({ "journal/notes.txt": "" });
  await program.run("signing");
  const key = createPrivateKey(program.read(KEY));
  const passkey = makeSoftPasskey("http://localhost:4490");
  const subject = { escalation_id: "esc-1", digest: "sha256:00", decision: "accepted" };
  const signed = passkey.sign({ challenge: challengeOf(subject, "n") }) as {
    readonly response: Readonly<Record<string, string>>;
  };
  const { clientDataJSON, authenticatorData, signature } = signed.response;
  const decision = {
    ...{ event_type: "escalation_decided", escalation_id: "esc-1", escalation_status: "accepted" },
    ...{ call_digest: "sha256:00", operator: { id: "link:Nina", name: "Nina", via: "passkey" } },
    attestation: {
      ...{ type: "webauthn", credential_id: passkey.id, public_key: passkey.jwk },
      ...{ digest: "sha256:00", nonce: "n", client_data_json: clientDataJSON },
      ...{ authenticator_data: authenticatorData, signature },
    },
  };
  const records = makeChain({
    ...{ agentId: AGENT, key, length: 3 },
    change: (payload, index) => (index === 1 ? change({ ...payload, ...decision }) : payload),
  });
  writeJournal(program, records);
  program.write("nina.jwk", JSON.stringify(passkey.jwk));
  program.write("otto.jwk", JSON.stringify(makeSoftPasskey("http://localhost:4490").jwk));
  return { program, passkey, auditId: records[1]?.auditId };
}

describe("agtp-keys verify --chain, with approvals that a passkey signed", () => {
  it("checks each with the key that the operator pinned", async () => {
    const { program } = await approve();
    const { exitCode, out } = await program.run(...CHAIN, "--passkey", "nina.jwk");
    expect(out).toContain("passkeys    1 approvals signed, by keys that --passkey names\n");
    expect(exitCode).toBe(0);
    const { json } = await program.run(
      ...[...CHAIN, "--passkey", "otto.jwk", "--passkey", "nina.jwk", "--json"],
    );
    expect(json).toMatchObject({ ok: true, passkeys: { verified: 1, pinned: true } });
  });

  it("says so where none is pinned", async () => {
    const { program } = await approve();
    const { exitCode, out } = await program.run(...CHAIN);
    expect(out).toContain("1 approvals signed, by the keys in their records, no --passkey\n");
    expect(exitCode).toBe(0);
  });

  it("names the record that another passkey signed", async () => {
    const { program, passkey, auditId } = await approve();
    const { exitCode, out } = await program.run(...CHAIN, "--passkey", "otto.jwk");
    expect(exitCode).toBe(1);
    expect(out).toContain(
      `broken      false-passkey: record ${auditId} was decided with a passkey, but the attestation is signed with passkey ${passkey.id}, which no --passkey names\n`,
    );
  });

  it.each<readonly [string, (payload: JsonRecord) => JsonRecord, string]>([
    [
      "is of another decision",
      (payload) => ({ ...payload, escalation_status: "rejected" }),
      "the attestation is for another decision",
    ],
    [
      "is of a decision that has no canonical form",
      (payload) => ({ ...payload, escalation_id: "esc-\ud800" }),
      "the attestation is for another decision",
    ],
    [
      "is of another call",
      (payload) => ({ ...payload, call_digest: "sha256:01" }),
      "the attestation is for another call than the one that was decided",
    ],
    [
      "nobody made",
      (payload) => ({ ...payload, attestation: undefined }),
      "the record says that a passkey decided, and has no signature of one",
    ],
  ])("names the record whose signature %s, though it is signed by the server", async (...given) => {
    const [, change, reason] = given;
    const { program, auditId } = await approve(change);
    for (const pinned of [[], ["--passkey", "nina.jwk"]]) {
      const { exitCode, out } = await program.run(...CHAIN, ...pinned);
      expect(exitCode).toBe(1);
      expect(out).toContain(`record ${auditId} was decided with a passkey, but ${reason}\n`);
    }
  });

  it("checks a file of its records in the same way", async () => {
    const { program, passkey } = await approve();
    const FILE = "journal/00000001.jws";
    program.write("one.jws", program.read(FILE).split("\n")[1] ?? "");
    for (const file of [FILE, "one.jws"]) {
      for (const pinned of [[], ["--passkey", "otto.jwk", "--passkey", "nina.jwk"]]) {
        const { exitCode, out } = await program.run("verify", file, "--key", KEY, ...pinned);
        expect(out).toContain("the decision is signed with a passkey of link:Nina\n");
        expect(exitCode).toBe(0);
      }
      const other = await program.run("verify", file, "--key", KEY, "--passkey", "otto.jwk");
      expect(other.out).toContain(
        `the attestation is signed with passkey ${passkey.id}, which no --passkey names\n`,
      );
      expect(other.exitCode).toBe(1);
    }
  });

  it("wants a key for --passkey", async () => {
    const { program } = await approve();
    const { exitCode, err } = await program.run(...CHAIN, "--passkey", "journal/notes.txt");
    expect(exitCode).toBe(2);
    expect(err).toContain('"journal/notes.txt" must be the public key of a passkey, JWK or PEM');
  });
});
