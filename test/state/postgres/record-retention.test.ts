/** What retention takes out of a database is signed for first: what is left serves, exports and verifies. */

import { hash } from "node:crypto";
import { appendFileSync, existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { readLastCut } from "../../../src/state/journal/cut-file.ts";
import { verifyJournalChain } from "../../../src/state/journal/journal-chain.ts";
import type { RetentionLimits } from "../../../src/state/journal/retention.ts";
import { segmentName } from "../../../src/state/journal/segment.ts";
import { exportPostgres } from "../../../src/state/moving/export-postgres.ts";
import { importPostgres } from "../../../src/state/moving/import-postgres.ts";
import { openPostgres } from "../../../src/state/postgres/open.ts";
import { createRecordSigner } from "../../../src/state/records/sealer.ts";
import { makeKeyPair } from "../../support/attribution-chain.ts";
import { makeDirectory } from "../../support/directory.ts";
import { PATIENCE } from "../../support/patience.ts";
import { describeWithPostgres, postgres } from "../../support/postgres.ts";
import { moveToFiles, openRecordNode, type RecordNode } from "../../support/record-node.ts";

const [ALICE, BOB] = ["a".repeat(64), "b".repeat(64)];
const DAY = 86_400_000;
const { privateKey, publicKey } = makeKeyPair();
const signer = createRecordSigner(privateKey);
const serverId = "agents.example";
const SMALL = { bytes: 8_000 };

const open = (url: string, node: string, more: { now?: () => number; directory?: string } = {}) =>
  openRecordNode({ url, node, signer, ...more });

/** Puts limits in force, and cuts what is due. */
async function keep({ state }: RecordNode, limits: RetentionLimits | undefined): Promise<void> {
  state.retention?.apply({ limits, signer, serverId });
  await state.retention?.run();
}

/** Has another process cut once it knows that the one before is gone. */
async function takeOver(node: RecordNode, limits: RetentionLimits): Promise<void> {
  await expect
    .poll(async () => {
      await keep(node, limits);
      return node.notices.map(({ event }) => event);
    }, PATIENCE)
    .toContain("journal-cut");
}

async function count(url: string): Promise<number> {
  const [row] = await postgres().query("SELECT count(*) AS count FROM agtp.records", url);
  return Number(row?.["count"]);
}

async function journalOf(node: RecordNode): Promise<string> {
  return moveToFiles(exportPostgres(node.store, serverId));
}

async function textOf(node: RecordNode): Promise<string> {
  let text = "";
  for await (const line of exportPostgres(node.store, serverId)) text += line;
  return text;
}

/** An export that adds up, and says something else. */
function forge(text: string, change: (body: string) => string): string {
  const at = text.lastIndexOf('{"end":');
  const body = change(text.slice(0, at));
  expect(body).not.toBe(text.slice(0, at));
  return body + text.slice(at).replace(/[0-9a-f]{64}/, hash("sha256", body));
}

async function* octetsOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

const verify = (directory: string, agentId: string, archive?: string) =>
  verifyJournalChain({ directory, agentId, keys: [publicKey], archive });

// AGTP-IDENTIFIERS "Audit Log"
describeWithPostgres("records of a database within limits", () => {
  it("go to an archive that verifies, by itself and with what is left", async () => {
    const url = await postgres().makeDatabase();
    const archive = join(makeDirectory(), "archive");
    const node = await open(url, "a");
    const bobs = await node.grow(BOB, 3);
    const told = await node.grow(ALICE, 40);
    await keep(node, { ...SMALL, archive });
    const left = await count(url);
    expect(left).toBeLessThan(43);
    expect(node.notices.map(({ event }) => event)).toEqual(["journal-cut"]);
    const journal = await journalOf(node);
    for (const [agent, records] of [
      [ALICE, 40],
      [BOB, 3],
    ] as const) {
      expect(await verify(journal, agent)).toMatchObject({
        broken: undefined,
        cut: { isArchived: true },
      });
      expect(await verify(journal, agent, archive)).toMatchObject({ broken: undefined, records });
    }
    const alone = await verify(archive, ALICE, archive);
    expect(alone).toMatchObject({ broken: undefined, cut: undefined });
    expect(alone?.records).toBe(43 - left - 3);

    const { ledger, retention } = node.state;
    const cut = await readLastCut(archive);
    const through = segmentName(cut?.through ?? 0);
    const [gone = "", end = ""] = [told[0], bobs.at(-1)];
    expect(await ledger.find(gone)).toBeUndefined();
    for (const auditId of [gone, end]) {
      expect(await ledger.whereCut(auditId)).toEqual({
        isArchived: true,
        segment: "00000001.jws",
        through,
      });
    }
    expect(await ledger.find(told.at(-1) ?? "")).toBeDefined();
    expect(await ledger.whereCut("c".repeat(64))).toBeUndefined();
    expect(await retention?.size()).toMatchObject({ cutThrough: through });

    // The next cut follows this one, and the archive goes on.
    await node.grow(ALICE, 20);
    await keep(node, { ...SMALL, archive });
    const next = await readLastCut(archive);
    expect(next?.through).toBeGreaterThan(cut?.through ?? 0);
    expect(readdirSync(archive).filter((name) => name.endsWith(".heads"))).toEqual([
      next?.heads.file,
    ]);
    expect(await verify(await journalOf(node), ALICE, archive)).toMatchObject({
      records: 60,
      broken: undefined,
    });

    appendFileSync(join(archive, "00000001.jws"), "more");
    const altered = await verify(archive, ALICE, archive);
    expect(altered?.broken?.kind).toBe("altered-archive");
  });

  it("are deleted without one, and everybody knows where each chain stood", async () => {
    const url = await postgres().makeDatabase();
    const node = await open(url, "a");
    const other = await open(url, "b");
    const [end = ""] = (await node.grow(BOB, 3)).slice(-1);
    const told = await node.grow(ALICE, 40);
    await keep(node, SMALL);
    expect(await count(url)).toBeLessThan(20);
    const where = { isArchived: false, segment: undefined };
    for (const one of [node, other]) {
      expect(await one.state.ledger.whereCut(end)).toMatchObject(where);
    }
    expect(await other.state.ledger.find(told.at(-1) ?? "")).toBeDefined();
    expect(await verify(await journalOf(other), ALICE)).toMatchObject({
      broken: undefined,
      cut: { isArchived: false },
    });
  });

  it("go once they are old, also while nothing is added", async () => {
    const url = await postgres().makeDatabase();
    let now = Date.UTC(2026, 0, 1);
    const node = await open(url, "a", { now: () => now });
    await node.grow(ALICE, 2);
    now += 0.5 * DAY;
    await keep(node, { days: 2 });
    expect(await count(url)).toBe(2);
    now += 2 * DAY;
    await node.state.retention?.run();
    expect(await count(url)).toBe(0);
    await node.grow(ALICE, 2);
    const report = await verify(await journalOf(node), ALICE);
    expect(report).toMatchObject({ records: 2, broken: undefined, cut: { records: 2 } });
  });

  it("are never missed by a node that knew them as the newest", async () => {
    const url = await postgres().makeDatabase();
    const directory = makeDirectory();
    const node = await open(url, "a");
    const late = await open(url, "b", { directory });
    await late.grow(BOB, 1);
    await node.grow(BOB, 2);
    await node.grow(ALICE, 40);
    await keep(node, SMALL);
    const rows = await postgres().query(`SELECT FROM agtp.records WHERE agent_id = '${BOB}'`, url);
    expect(rows).toEqual([]);
    // It expects its own record to be the last one, and is told of the later ones.
    await late.grow(BOB, 1);
    expect([late.faults, late.notices]).toEqual([[], []]);
    await late.close();
    const again = await open(url, "b", { directory });
    await again.grow(BOB, 1);
    expect(await verify(await journalOf(again), BOB)).toMatchObject({
      ...{ records: 2, broken: undefined, cut: { records: 3 } },
    });
  });

  it("are cut by one node, and by another once that is gone or has no limits", async () => {
    const url = await postgres().makeDatabase();
    const [node, other] = [await open(url, "a"), await open(url, "b")];
    await node.grow(ALICE, 30);
    await keep(node, { bytes: 10 ** 9 });
    await keep(other, SMALL);
    expect(await count(url)).toBe(30);
    await keep(node, undefined);
    await takeOver(other, SMALL);
    expect(await count(url)).toBeLessThan(30);
  });

  it("stay while a record below them may still come, which is told once after a minute", async () => {
    const url = await postgres().makeDatabase();
    let time = Date.now();
    const node = await open(url, "a", { now: () => time });
    const client = await node.store.pool.connect();
    await client.query("BEGIN");
    // As a batch of another node that has drawn its number and is not committed yet.
    await client.query(`INSERT INTO agtp.heads VALUES ('${BOB}', '${"0".repeat(64)}', 0, '')`);
    await client.query("SELECT nextval(pg_get_serial_sequence('agtp.records', 'number'))");
    await node.grow(ALICE, 30);
    await keep(node, SMALL);
    expect(await count(url)).toBe(30);
    expect(node.notices).toEqual([]);
    for (let turn = 0; turn < 2; turn += 1) {
      time += 60_000;
      await node.state.retention?.run();
    }
    expect(node.notices.map(({ event }) => event)).toEqual(["journal-retention-failed"]);
    expect(node.notices[0]?.fields["reason"]).toContain("a transaction that writes has been open");
    expect(await count(url)).toBe(30);
    await client.query("ROLLBACK");
    client.release();
    await node.state.retention?.run();
    expect(await count(url)).toBeLessThan(30);
  });

  it("move on with their checkpoints, and are cut there behind them", async () => {
    const [url, to] = [await postgres().makeDatabase(), await postgres().makeDatabase()];
    const archive = join(makeDirectory(), "archive");
    const node = await open(url, "a");
    await node.grow(ALICE, 30);
    await keep(node, { ...SMALL, archive });
    const text = await textOf(node);
    const { store, fault } = await openPostgres({ url: to, schema: "agtp" });
    if (store === undefined) throw new Error(fault.message);
    const target = { store, schema: "agtp", onHeader: () => undefined };
    const forged = forge(text, (body) => body.replace(/"sequence":(\d)/, '"sequence":9$1'));
    await expect(importPostgres(octetsOf(forged), target)).rejects.toThrow(/other ends of chains/);
    await importPostgres(octetsOf(text), target);
    await store.close();
    const next = await open(to, "a");
    expect(await textOf(next)).toContain(text.split("\n")[1] ?? "?");
    await next.grow(ALICE, 30);
    await keep(next, { ...SMALL, archive });
    expect(await verify(await journalOf(next), ALICE, archive)).toMatchObject({
      ...{ records: 60, broken: undefined, cut: undefined },
    });
  });

  it("stay where the archive is another's", async () => {
    const [url, to] = [await postgres().makeDatabase(), await postgres().makeDatabase()];
    const archive = join(makeDirectory(), "archive");
    const [node, stranger] = [await open(url, "a"), await open(to, "a")];
    await node.grow(ALICE, 30);
    await stranger.grow(ALICE, 30);
    await keep(node, { ...SMALL, archive });
    await keep(stranger, { ...SMALL, archive });
    expect(stranger.notices.map(({ event }) => event)).toEqual(["journal-retention-failed"]);
    expect(await count(to)).toBe(30);
    expect(existsSync(join(archive, "00000001.jws"))).toBe(true);
  });
});
