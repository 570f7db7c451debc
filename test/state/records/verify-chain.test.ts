import { hash } from "node:crypto";
import { describe, expect, it } from "vitest";
import { NO_AUDIT_ID } from "../../../src/state/records/record.ts";
import { type ChainReport, verifyChain } from "../../../src/state/records/verify-chain.ts";
import {
  AGENT,
  alterRecord,
  type ChainedRecord,
  makeChain,
  makeKeyPair,
  OTHER_AGENT,
} from "../../support/attribution-chain.ts";

const { privateKey, publicKey } = makeKeyPair();
const other = makeKeyPair();

interface WalkOptions {
  readonly keys?: readonly (typeof publicKey)[];
  readonly head?: string;
  /** What is handed out instead. */
  readonly instead?: ReadonlyMap<string, string | undefined>;
}

function walk(
  records: readonly ChainedRecord[],
  { keys = [publicKey], head = records.at(-1)?.auditId ?? NO_AUDIT_ID, instead }: WalkOptions = {},
): Promise<ChainReport> {
  const kept = new Map([...records.map(({ auditId, jws }) => [auditId, jws] as const)]);
  const fetch = async (id: string): Promise<string | undefined> =>
    instead?.has(id) ? instead.get(id) : kept.get(id);
  return verifyChain({ agentId: AGENT, head, keys, fetch });
}

const signedChain = (length: number): readonly ChainedRecord[] =>
  makeChain({ agentId: AGENT, key: privateKey, length });
const idAt = (records: readonly ChainedRecord[], index: number): string =>
  records.at(index)?.auditId ?? "";

describe("verifyChain", () => {
  it("walks a whole chain from its head to the first record", async () => {
    const records = signedChain(50);
    const report = await walk(records);
    expect(report).toMatchObject({ agentId: AGENT, records: 50, verified: 50, unsigned: 0 });
    expect(report.broken).toBeUndefined();
    expect(report.head).toBe(idAt(records, -1));
    expect(report.first).toEqual({
      auditId: idAt(records, 0),
      issuedAt: "2026-01-01T00:00:00.000Z",
      method: "QUERY",
      path: "/rooms/0",
      status: 200,
    });
    expect(report.last).toMatchObject({ auditId: idAt(records, -1), path: "/rooms/49" });
  });

  it("counts signatures that it could not check, and records without one", async () => {
    expect(await walk(signedChain(3), { keys: [] })).toMatchObject({ unchecked: 3, verified: 0 });
    const unsigned = makeChain({ agentId: AGENT, length: 4 });
    const report = await walk(unsigned, { keys: [] });
    expect(report).toMatchObject({ records: 4, unsigned: 4, broken: undefined });
  });

  it("lets signed records vouch for unsigned ones before them, never the other way round", async () => {
    const before = makeChain({ agentId: AGENT, length: 2 });
    const after = makeChain({
      agentId: AGENT,
      key: privateKey,
      length: 2,
      after: idAt(before, -1),
      change: (payload) => ({ ...payload, issued_at: "2026-02-01T00:00:00Z" }),
    });
    const upgraded = await walk([...before, ...after]);
    expect(upgraded).toMatchObject({ verified: 2, unsigned: 2, broken: undefined });
    const report = await walk(before);
    expect(report.broken).toMatchObject({ kind: "unsigned-head", auditId: idAt(before, -1) });
    expect(report.records).toBe(0);
  });

  it("is content with a chain that has not begun", async () => {
    expect(await walk([])).toMatchObject({ records: 0, first: undefined, broken: undefined });
  });

  it("takes records of the same millisecond", async () => {
    const issued = "2026-01-01T00:00:00Z";
    const change = (payload: Record<string, unknown>) => ({ ...payload, issued_at: issued });
    const records = makeChain({ agentId: AGENT, key: privateKey, length: 3, change });
    expect((await walk(records)).broken).toBeUndefined();
  });

  it("names a record that is missing, and the one that names it", async () => {
    const records = signedChain(5);
    const report = await walk(records.filter((_, index) => index !== 2));
    expect(report.records).toBe(2);
    expect(report.first?.auditId).toBe(idAt(records, 3));
    expect(report.broken).toEqual({
      kind: "missing-record",
      auditId: idAt(records, 2),
      message: `record ${idAt(records, 2)} is missing, record ${idAt(records, 3)} names it`,
    });
  });

  it("names a head that is missing", async () => {
    const head = "c".repeat(64);
    const report = await walk(signedChain(2), { head });
    expect(report.broken).toMatchObject({ message: `record ${head} is missing, it is the head` });
  });

  it("notices that another record is handed out than asked for", async () => {
    const records = signedChain(4);
    const altered = alterRecord(records[1]!, (payload) => ({ ...payload, status: 403 }));
    const report = await walk(records, { instead: new Map([[idAt(records, 1), altered.jws]]) });
    expect(report.broken).toEqual({
      kind: "hash-mismatch",
      auditId: idAt(records, 1),
      message: `record ${idAt(records, 1)} was altered, its hash is ${altered.auditId}`,
    });
  });

  it.each([
    [
      "bad-signature",
      (record: ChainedRecord) => alterRecord(record, (said) => ({ ...said, x: 1 })),
    ],
    ["malformed-record", () => ({ auditId: "", jws: "no record" })],
    [
      "unknown-key",
      (_: ChainedRecord, after: string) =>
        makeChain({ agentId: AGENT, key: other.privateKey, length: 1, after })[0]!,
    ],
    [
      "wrong-agent",
      (_: ChainedRecord, after: string) =>
        makeChain({ agentId: OTHER_AGENT, key: privateKey, length: 1, after })[0]!,
    ],
    [
      "time-reversed",
      (_: ChainedRecord, after: string) =>
        makeChain({
          agentId: AGENT,
          key: privateKey,
          length: 1,
          after,
          change: (payload) => ({ ...payload, issued_at: "2027-01-01T00:00:00Z" }),
        })[0]!,
    ],
  ] as const)("finds a record in the middle that breaks it: %s", async (kind, forge) => {
    const before = signedChain(3);
    const forged = forge(before[2]!, idAt(before, 1));
    const auditId = hash("sha256", forged.jws);
    const after = makeChain({
      agentId: AGENT,
      key: privateKey,
      length: 2,
      after: auditId,
      change: (payload) => ({ ...payload, issued_at: "2026-06-01T00:00:00Z" }),
    });
    const report = await walk([...before.slice(0, 2), { auditId, jws: forged.jws }, ...after]);
    expect(report.broken).toMatchObject({ kind, auditId });
    expect(report.broken?.message).toContain(`record ${auditId} `);
    expect(report.records).toBe(2);
  });

  it.each([
    ["no previous record", { previous_audit_id: undefined }],
    ["a previous record in capitals", { previous_audit_id: "A".repeat(64) }],
    ["no time", { issued_at: undefined }],
    ["a time that is none", { issued_at: "yesterday" }],
  ])("takes no record with %s", async (_, members) => {
    const change = (payload: Record<string, unknown>) => ({ ...payload, ...members });
    const records = makeChain({ agentId: AGENT, key: privateKey, length: 1, change });
    expect((await walk(records)).broken?.kind).toBe("malformed-record");
  });

  it("rejects when a record cannot be asked for, which is not a break", async () => {
    const fetch = (): Promise<never> => Promise.reject(new Error("no connection"));
    const walking = verifyChain({ agentId: AGENT, head: "c".repeat(64), keys: [], fetch });
    await expect(walking).rejects.toThrow("no connection");
  });
});
