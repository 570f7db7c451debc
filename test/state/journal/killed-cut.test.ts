/** A process that is killed while it cuts its journal: the chain verifies, and what was acknowledged is there. */

import { execFile } from "node:child_process";
import { createPublicKey } from "node:crypto";
import { mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { publicKeyOf } from "../../../src/identity/ed25519.ts";
import { readLastCut } from "../../../src/state/journal/cut-file.ts";
import { verifyJournalChain } from "../../../src/state/journal/journal-chain.ts";
import type { CutStep } from "../../../src/state/journal/make-cut.ts";
import { listSegments } from "../../../src/state/journal/segment.ts";
import { openStore } from "../../../src/state/open-store.ts";
import { createRecordSigner } from "../../../src/state/records/sealer.ts";
import { openState } from "../../../src/state/state.ts";
import { makeDirectory } from "../../support/directory.ts";
import { readJournal } from "../../support/records.ts";

const DRIVER = resolve(import.meta.dirname, "../../support/cut-journal.mjs");
const AGENT = "a".repeat(64);

/** Runs until it is killed; answers the records that it acknowledged. */
function runUntilKilled(directory: string, step: CutStep, times: number): Promise<string[]> {
  const args = [DRIVER, directory, step, String(times), AGENT];
  return new Promise((done, fail) => {
    execFile(process.execPath, args, (error, stdout, stderr) => {
      if (error?.signal === "SIGKILL") done(stdout.split("\n").slice(0, -1));
      else fail(new Error(`it was not killed: ${stderr}`));
    });
  });
}

// AGTP-IDENTIFIERS "Audit Log"
describe("a process that is killed within a cut", () => {
  it.each<[CutStep, number]>([
    ["heads-written", 0],
    ["heads-synced", 1],
    ["cut-written", 0],
    ["cut-synced", 1],
    ["segment-moved", 1],
    ["index-moved", 0],
    ["archive-synced", 1],
    ["journal-synced", 0],
  ])("loses nothing behind %s, done %i times before", async (step, times) => {
    const root = makeDirectory();
    const [directory, archive] = [join(root, "journal"), join(root, "archive")];
    mkdirSync(archive);
    const acknowledged = await runUntilKilled(root, step, times);
    expect(acknowledged.length).toBeGreaterThanOrEqual(20);
    const key = publicKeyOf(createPublicKey(readFileSync(join(root, "key.pem"))));
    const question = { directory, agentId: AGENT, keys: key === undefined ? [] : [key] };
    const verify = async (): Promise<void> => {
      expect(await verifyJournalChain(question)).toMatchObject({ broken: undefined });
      const whole = await verifyJournalChain({ ...question, archive });
      expect(whole).toMatchObject({ broken: undefined, cut: undefined });
      expect(whole?.records).toBeGreaterThanOrEqual(acknowledged.length);
    };
    await verify();
    const kept = new Set([directory, archive].flatMap(readJournal).map(({ auditId }) => auditId));
    expect(acknowledged.filter((auditId) => !kept.has(auditId))).toEqual([]);

    const { store } = await openStore({ driver: "sqlite", path: join(root, "state.db") }, "");
    if (store === undefined) throw new Error("the store does not open");
    const faults: unknown[] = [];
    const next = await openState({
      ...{ store, journalDirectory: directory, onFault: (error) => void faults.push(error) },
    });
    const signer = createRecordSigner();
    next.retention?.apply({ limits: { archive }, signer, serverId: "agents.example" });
    await next.retention?.run();
    await next.close();
    const cut = await readLastCut(directory);
    expect(listSegments(directory)[0]).toBe((cut?.through ?? 0) + 1);
    await verify();
    expect(faults).toEqual([]);
  });
});
