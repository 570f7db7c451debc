/** A node that is killed while it cuts: the chain verifies, and what was acknowledged is there. */

import { execFile } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { publicKeyOf } from "../../../src/identity/ed25519.ts";
import { verifyJournalChain } from "../../../src/state/journal/journal-chain.ts";
import { listSegments, readSegment } from "../../../src/state/journal/segment.ts";
import { exportPostgres } from "../../../src/state/moving/export-postgres.ts";
import type { RecordCutStep } from "../../../src/state/postgres/record-retention.ts";
import { createRecordSigner } from "../../../src/state/records/sealer.ts";
import { createDirectory } from "../../support/directory.ts";
import { PATIENCE } from "../../support/patience.ts";
import { describeWithPostgres, postgres } from "../../support/postgres.ts";
import { moveToFiles, openRecordNode } from "../../support/record-node.ts";

const DRIVER = resolve(import.meta.dirname, "../../support/record-node.mjs");
const AGENT = "a".repeat(64);

/** Runs until it is killed; answers the records that it acknowledged. */
function runUntilKilled(args: readonly string[]): Promise<string[]> {
  return new Promise((done, fail) => {
    execFile(process.execPath, [DRIVER, ...args], (error, stdout, stderr) => {
      if (error?.signal === "SIGKILL") done(stdout.split("\n").slice(0, -1));
      else fail(new Error(`it was not killed: ${stderr}`));
    });
  });
}

async function readSegments(directory: string): Promise<readonly string[]> {
  const auditIds: string[] = [];
  for (const number of listSegments(directory)) {
    for await (const { auditId } of readSegment(directory, number)) auditIds.push(auditId);
  }
  return auditIds;
}

const STEPS: readonly (readonly [RecordCutStep, number])[] = [
  ["segment-marked", 1],
  ["heads-staged", 1],
  ["cut-committed", 0],
  ["part-written", 1],
  ["segment-archived", 1],
  ["cuts-archived", 1],
  ["archive-noted", 0],
  ["slice-deleted", 1],
  ["segment-gone", 0],
];

/** A node that was killed, and its database. */
interface Killed {
  readonly url: string;
  readonly root: string;
  readonly acknowledged: Promise<readonly string[]>;
}

// AGTP-IDENTIFIERS "Audit Log"
describeWithPostgres("a node that is killed within a cut", () => {
  const killed = new Map<RecordCutStep, Killed>();
  beforeAll(async () => {
    for (const [step, times] of STEPS) {
      const [url, root] = [await postgres().makeDatabase(), createDirectory()];
      const acknowledged = runUntilKilled([root, url, step, String(times), AGENT]);
      acknowledged.catch(() => undefined);
      killed.set(step, { url, root, acknowledged });
    }
  });
  afterAll(() => {
    for (const { root } of killed.values()) rmSync(root, { recursive: true, force: true });
  });

  it.each(STEPS)("loses nothing behind %s, done %i times before", async (step) => {
    const { url, root, acknowledged: told } = killed.get(step) as Killed;
    const archive = join(root, "archive");
    const acknowledged = await told;
    expect(acknowledged.length).toBeGreaterThanOrEqual(20);
    const key = publicKeyOf(createPublicKey(readFileSync(join(root, "key.pem"))));
    const keys = key === undefined ? [] : [key];
    const next = await openRecordNode({ url, node: "next", signer: createRecordSigner() });
    const verify = async (isWhole: boolean): Promise<void> => {
      const directory = await moveToFiles(exportPostgres(next.store, "agents.example"));
      const question = { directory, agentId: AGENT, keys };
      expect(await verifyJournalChain(question)).toMatchObject({ broken: undefined });
      if (!isWhole) return;
      const whole = await verifyJournalChain({ ...question, archive });
      expect(whole).toMatchObject({ broken: undefined, cut: undefined });
      expect(whole?.records).toBeGreaterThanOrEqual(acknowledged.length);
      const kept = [...(await readSegments(directory)), ...(await readSegments(archive))];
      const known = new Set(kept);
      expect(kept).toHaveLength(known.size);
      expect(acknowledged.filter((auditId) => !known.has(auditId))).toEqual([]);
    };
    await verify(false);
    const there = await Promise.all(acknowledged.map((auditId) => next.state.ledger.find(auditId)));
    const archived = new Set(existsSync(archive) ? await readSegments(archive) : []);
    const lost = acknowledged.filter((id, at) => there[at] === undefined && !archived.has(id));
    expect(lost).toEqual([]);

    const signer = createRecordSigner();
    const limits = { bytes: 10 ** 9, archive };
    next.state.retention?.apply({ limits, signer, serverId: "agents.example" });
    await expect
      .poll(async () => {
        await next.state.retention?.run();
        const [row] = await postgres().query(
          "SELECT count(*) AS n FROM agtp.records WHERE number <= coalesce((SELECT value::bigint FROM agtp.meta WHERE name = 'cut_number'), 0)",
          url,
        );
        return [row?.["n"], (await postgres().query(HOLDER, url))[0]?.["mine"]];
      }, PATIENCE)
      .toEqual(["0", true]);
    await verify(existsSync(archive));
    expect([next.faults, next.notices.filter(({ level }) => level === "error")]).toEqual([[], []]);
  });
});

/** True once the process that was killed cuts no more. */
const HOLDER =
  "SELECT value IN (SELECT process FROM agtp.nodes WHERE node = 'next') AS mine FROM agtp.meta WHERE name = 'cut_holder'";
