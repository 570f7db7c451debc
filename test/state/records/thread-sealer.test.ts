import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import type { JournalRecord } from "../../../src/state/journal/journal.ts";
import { openSealer, ThreadSealer } from "../../../src/state/records/open-sealer.ts";
import type { SealingJob } from "../../../src/state/records/record.ts";
import { createRecordSigner } from "../../../src/state/records/sealer.ts";
import { makeDirectory } from "../../support/directory.ts";
import { isSigned, readJws } from "../../support/records.ts";

const { privateKey: KEY, publicKey: PUBLIC_KEY } = generateKeyPairSync("ed25519");
const SIGNER = createRecordSigner(KEY);
/** A thread runs built code only. */
const BUILT = resolve(import.meta.dirname, "../../../dist/src/state/records/sealing-thread.js");
const HEAD = "f".repeat(64);

function openThread(script: string = BUILT): ThreadSealer {
  const sealer = new ThreadSealer({ script: pathToFileURL(script), signer: SIGNER, key: KEY });
  onTestFinished(() => sealer.close());
  return sealer;
}

/** So many records of one chain, with some in between that are in none. */
function makeJob(length: number, previous: string = HEAD): SealingJob {
  const numbers = Array.from({ length }, (_, index) => index);
  return {
    payloads: numbers.map((number) => ({
      before: `{"number":${number},"previous_audit_id":"`,
      after: '"}',
    })),
    chains: numbers.map((number) => (number % 3 === 2 ? -1 : 0)),
    previous: [previous],
  };
}

/** Everything that a job comes to, in the order in which it is delivered. */
async function seal(sealer: ThreadSealer, job: SealingJob): Promise<readonly JournalRecord[]> {
  const delivered: JournalRecord[] = [];
  const rest = await sealer.seal(job, (records) => delivered.push(...records));
  return [...delivered, ...rest];
}

function expectChain(records: readonly JournalRecord[], length: number, previous = HEAD): string {
  let head = previous;
  expect(records.map(({ jws }) => readJws(jws).payload["number"])).toEqual(
    Array.from({ length }, (_, index) => index),
  );
  for (const [index, { jws, auditId }] of records.entries()) {
    const record = readJws(jws);
    expect(record.auditId).toBe(auditId);
    expect(isSigned(jws, PUBLIC_KEY)).toBe(true);
    if (index % 3 === 2) continue;
    expect(record.payload["previous_audit_id"]).toBe(head);
    head = auditId;
  }
  return head;
}

// AGTP-IDENTIFIERS "Attribution Chain"
describe("ThreadSealer", () => {
  it.each([1, 2, 3, 4, 5, 50])("seals %i records in order", async (length) => {
    expectChain(await seal(openThread(), makeJob(length)), length);
  });

  it("seals what is little at once", () => {
    const sealed = openThread().seal(makeJob(1), () => undefined);
    expect(sealed).not.toBeInstanceOf(Promise);
  });

  it("seals one job after another", async () => {
    const sealer = openThread();
    const jobs = [10, 7, 30].map((length) => seal(sealer, makeJob(length)));
    const [first, second, third] = await Promise.all(jobs);
    expectChain(first ?? [], 10);
    expectChain(second ?? [], 7);
    expectChain(third ?? [], 30);
  });

  it("finishes what it has when it is closed, and seals on the spot from then on", async () => {
    const sealer = openThread();
    const jobs = [40, 40].map((length) => seal(sealer, makeJob(length)));
    await sealer.close();
    for (const job of jobs) expectChain(await job, 40);
    expectChain(await seal(sealer, makeJob(40)), 40);
  });

  it.each([
    ["is not there", undefined],
    ["ends at once", "process.exit(0);"],
    ["throws", "throw new Error('a fault');"],
    [
      "ends in the middle of a job",
      `const { parentPort } = require("node:worker_threads");
       parentPort.on("message", () => process.exit(1));`,
    ],
  ])("seals on the spot where the thread %s", async (_, code) => {
    const directory = makeDirectory(code === undefined ? {} : { "thread.cjs": code });
    const sealer = openThread(join(directory, "thread.cjs"));
    expectChain(await seal(sealer, makeJob(20)), 20);
    expectChain(await seal(sealer, makeJob(20)), 20);
  });

  it("starts a thread again a while after one could not be started", async () => {
    const directory = makeDirectory({});
    const script = join(directory, "thread.mjs");
    const options = { script: pathToFileURL(script), signer: SIGNER, key: KEY, restMs: 0 };
    const sealer = new ThreadSealer(options);
    onTestFinished(() => sealer.close());
    expectChain(await seal(sealer, makeJob(20)), 20);
    writeFileSync(script, `export * from ${JSON.stringify(pathToFileURL(BUILT).href)};`);
    const delivered: JournalRecord[] = [];
    // Only a thread sends back what it has before all of it is done.
    const rest = await sealer.seal(makeJob(2_000), (records) => delivered.push(...records));
    expect(delivered.length).toBeGreaterThan(0);
    expectChain([...delivered, ...rest], 2_000);
  });

  it("goes on where a thread that ended has come to", async () => {
    const sealer = openThread();
    const delivered: JournalRecord[] = [];
    const rest = await sealer.seal(makeJob(2_000), (records) => {
      delivered.push(...records);
      void sealer.close();
    });
    expect(delivered.length).toBeGreaterThan(0);
    expectChain([...delivered, ...rest], 2_000);
  });
});

describe("openSealer", () => {
  it("seals on the spot without a key, and where there is no built thread", async () => {
    for (const [signer, key] of [
      [createRecordSigner(), undefined],
      [SIGNER, KEY],
    ] as const) {
      const sealer = openSealer(signer, key);
      expect(sealer.seal(makeJob(10), () => undefined)).toHaveLength(10);
      await sealer.close();
    }
  });
});
