import { appendFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { BackwardWalk, MAX_PASSED } from "../../../src/state/journal/backward-walk.ts";
import { FileJournal } from "../../../src/state/journal/file-journal.ts";
import { verifyJournalChain } from "../../../src/state/journal/journal-chain.ts";
import type { ChainReport } from "../../../src/state/records/verify-chain.ts";
import {
  AGENT,
  alterRecord,
  type ChainedRecord,
  makeChain,
  makeKeyPair,
  OTHER_AGENT,
} from "../../support/attribution-chain.ts";
import { makeDirectory } from "../../support/directory.ts";

const { privateKey, publicKey } = makeKeyPair();

const chainOf = (agentId: string, length: number): readonly ChainedRecord[] =>
  makeChain({ agentId, key: privateKey, length });

function writeSegment(directory: string, number: number, records: readonly ChainedRecord[]): void {
  const name = `${String(number).padStart(8, "0")}.jws`;
  writeFileSync(join(directory, name), records.map(({ jws }) => `${jws}\n`).join(""));
}

function verify(records: readonly ChainedRecord[]): Promise<ChainReport | undefined> {
  const directory = makeDirectory();
  writeSegment(directory, 1, records);
  return verifyJournalChain({ directory, agentId: AGENT, keys: [publicKey] });
}

describe("verifyJournalChain", () => {
  it("walks one agent's chain through every segment that the journal wrote", async () => {
    const directory = makeDirectory();
    const fail = (error: unknown): never => {
      throw error;
    };
    const journal = await FileJournal.open({ directory, segmentBytes: 2000, onFault: fail });
    const [ours, theirs] = [chainOf(AGENT, 30), chainOf(OTHER_AGENT, 30)];
    for (const [index, record] of ours.entries()) journal.write([record, theirs[index]!]);
    await journal.close();
    const names = readdirSync(directory).filter((name) => name.endsWith(".jws"));
    expect(names.length).toBeGreaterThan(3);

    const report = await verifyJournalChain({ directory, agentId: AGENT, keys: [publicKey] });
    expect(report).toMatchObject({ records: 30, verified: 30, broken: undefined });
    expect(report?.head).toBe(ours.at(-1)?.auditId);
  });

  it("writes nothing, not even where a line is unfinished", async () => {
    const directory = makeDirectory();
    writeSegment(directory, 1, chainOf(AGENT, 3));
    const path = join(directory, "00000002.jws");
    writeFileSync(path, "eyJhbGciOi");
    const before = readdirSync(directory);
    const report = await verifyJournalChain({ directory, agentId: AGENT, keys: [publicKey] });
    expect(report).toMatchObject({ records: 3, broken: undefined });
    expect(readdirSync(directory)).toEqual(before);
    expect(statSync(path).size).toBe(10);
  });

  it("knows nothing of an agent without records", async () => {
    const directory = makeDirectory();
    expect(await verifyJournalChain({ directory, agentId: AGENT, keys: [] })).toBeUndefined();
    writeSegment(directory, 1, chainOf(OTHER_AGENT, 1));
    expect(await verifyJournalChain({ directory, agentId: AGENT, keys: [] })).toBeUndefined();
  });

  it("points at a record that was altered", async () => {
    const records = chainOf(AGENT, 5);
    const altered = alterRecord(records[2]!, (payload) => ({ ...payload, status: 403 }));
    const report = await verify(records.map((record, index) => (index === 2 ? altered : record)));
    expect(report?.broken).toMatchObject({ kind: "missing-record", auditId: records[2]?.auditId });
    const length = records.slice(0, 2).reduce((sum, { jws }) => sum + jws.length + 1, 0);
    expect(report?.broken?.message).toBe(
      `record ${records[2]?.auditId} is missing, record ${records[3]?.auditId} names it: ` +
        `it was taken out behind record ${altered.auditId} (00000001.jws at octet ${length}), ` +
        "or that one was altered",
    );
  });

  it("points at the place where a record was taken out", async () => {
    const records = chainOf(AGENT, 5);
    const report = await verify(records.filter((_, index) => index !== 2));
    expect(report?.broken?.message).toContain(`behind record ${records[1]?.auditId}`);
  });

  it("notices that the first record was taken out", async () => {
    const records = chainOf(AGENT, 3);
    const report = await verify(records.slice(1));
    expect(report?.broken).toMatchObject({
      kind: "missing-record",
      message: `record ${records[0]?.auditId} is missing, record ${records[1]?.auditId} names it`,
    });
  });

  it("notices a fork, though either branch is whole", async () => {
    const trunk = chainOf(AGENT, 3);
    const branch = makeChain({
      agentId: AGENT,
      key: privateKey,
      length: 1,
      after: trunk[1]?.auditId ?? "",
      change: (payload) => ({ ...payload, issued_at: "2026-01-01T00:00:02Z" }),
    });
    for (const records of [
      [...trunk, ...branch],
      [...trunk.slice(0, 2), ...branch, ...trunk.slice(2)],
    ]) {
      const report = await verify(records);
      expect(report?.broken?.kind).toBe("fork");
      const ids = records.slice(2).map(({ auditId }) => auditId);
      expect(report?.broken?.message).toBe(
        `records ${ids[0]} and ${ids[1]} both follow record ${trunk[1]?.auditId}`,
      );
    }
  });

  it("notices a second chain of the same agent", async () => {
    const report = await verify([
      ...chainOf(AGENT, 2),
      ...makeChain({ agentId: AGENT, length: 1 }),
    ]);
    expect(report?.broken?.kind).toBe("unsigned-head");
    const change = (payload: Record<string, unknown>) => ({ ...payload, path: "/x" });
    const second = makeChain({ agentId: AGENT, key: privateKey, length: 1, change });
    expect((await verify([...chainOf(AGENT, 2), ...second]))?.broken?.kind).toBe("fork");
  });

  it("is not disturbed by a record that stands twice, nor by lines that are none", async () => {
    const records = chainOf(AGENT, 3);
    const noise = { auditId: "", jws: "not a record" };
    const report = await verify([noise, records[0]!, records[0]!, noise, ...records.slice(1)]);
    expect(report).toMatchObject({ records: 3, broken: undefined });
  });

  it("tells a damaged last line from another agent's", async () => {
    const records = chainOf(AGENT, 4);
    const [last] = records.slice(-1);
    const [theirs] = chainOf(OTHER_AGENT, 1);
    const damage = (jws: string): ChainedRecord => ({ auditId: "", jws });
    const lost = damage(`${last?.jws.slice(0, 100)}\x00${last?.jws.slice(101)}`);
    const renamed = alterRecord(last!, (payload) => ({ ...payload, agent_id: OTHER_AGENT }));
    const kept = records.slice(0, -1);
    for (const line of [lost, damage("."), renamed]) {
      const report = await verify([...kept, line]);
      expect(report).toMatchObject({ records: 3, broken: { kind: "malformed-record" } });
      expect(report?.broken?.message).toContain(`behind record ${kept.at(-1)?.auditId}`);
    }
    expect((await verify([...kept, lost, theirs!]))?.broken).toBeDefined();
    expect(await verify([...kept, theirs!])).toMatchObject({ records: 3, broken: undefined });
  });

  it.each([64 * 1024, 3 * 1024 * 1024])(
    "says where a chain breaks at a stretch of %i octets that a disk has lost",
    async (octets) => {
      const records = chainOf(AGENT, 5);
      const directory = makeDirectory();
      const lines = records.map(({ jws }) => `${jws}\n`);
      lines[2] = "\0".repeat(octets);
      writeFileSync(join(directory, "00000001.jws"), lines.join(""));
      const report = await verifyJournalChain({ directory, agentId: AGENT, keys: [publicKey] });
      expect(report).toMatchObject({
        records: 1,
        broken: { kind: "missing-record", auditId: records[3]?.auditId },
      });
    },
  );

  it("is not misled by copies of older records behind the newest one", async () => {
    const records = chainOf(AGENT, 6);
    for (const copies of [[1], [1, 2, 3], [3, 1], [5, 0]]) {
      const report = await verify([...records, ...copies.map((index) => records[index]!)]);
      expect(report, `${copies}`).toMatchObject({ records: 6, broken: undefined });
      expect(report?.head).toBe(records.at(-1)?.auditId);
    }
  });

  it("finds a chain whose records stand in another order", async () => {
    const [a, b, c, d, e] = chainOf(AGENT, 5);
    const report = await verify([b!, a!, e!, d!, c!]);
    expect(report).toMatchObject({ records: 5, broken: undefined });
  });

  it("gives up on a journal in which no record stands where it was written", async () => {
    const records = chainOf(AGENT, 200);
    const directory = makeDirectory();
    writeSegment(directory, 1, [...records.slice(0, -1).reverse(), records.at(-1)!]);
    await expect(verifyJournalChain({ directory, agentId: AGENT, keys: [] })).rejects.toThrow(
      "in an order in which",
    );
  });

  it("says the same of a long chain, and of a torn end", async () => {
    const records = chainOf(AGENT, 600);
    const directory = makeDirectory();
    writeSegment(directory, 1, [...records.slice(0, 200), ...records.slice(201, 400)]);
    writeSegment(directory, 2, records.slice(400));
    appendFileSync(join(directory, "00000002.jws"), "x".repeat(200_000));
    const report = await verifyJournalChain({ directory, agentId: AGENT, keys: [] });
    expect(report).toMatchObject({ records: 399, head: records.at(-1)?.auditId });
    expect(report?.broken).toMatchObject({
      kind: "missing-record",
      auditId: records[200]?.auditId,
    });
    expect(report?.broken?.message).toContain(`behind record ${records[199]?.auditId}`);
  });

  it("holds so many records at once that are not in their chain, and no more", async () => {
    const trunk = chainOf(AGENT, 2);
    const change = (at: number) => (payload: Record<string, unknown>) => ({
      ...payload,
      issued_at: "2026-01-01T00:00:02Z",
      path: `/${at}`,
    });
    const branches = Array.from({ length: MAX_PASSED + 500 }, (_, at) =>
      makeChain({ agentId: AGENT, length: 1, after: trunk[1]!.auditId, change: change(at) }),
    );
    const directory = makeDirectory();
    writeSegment(directory, 1, [...trunk, ...branches.flat()]);
    const segments = [{ directory, number: 1 }];
    const chain = { segments, begin: undefined, agentId: AGENT, keys: [], trustedHead: undefined };
    const walk = new BackwardWalk(chain);
    expect(await walk.report()).toMatchObject({ records: 3, broken: undefined });
    expect(walk.passed).toHaveLength(MAX_PASSED);
    expect((await verifyJournalChain({ directory, agentId: AGENT, keys: [] }))?.broken?.kind).toBe(
      "fork",
    );
  });

  it("rejects for a directory that is not there", async () => {
    const missing = join(makeDirectory(), "none");
    await expect(
      verifyJournalChain({ directory: missing, agentId: AGENT, keys: [] }),
    ).rejects.toThrow("ENOENT");
  });
});
