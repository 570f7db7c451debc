/**
 * The sealing thread: seals jobs in order, and returns their records a few at a time, so that the first replies of a
 * job leave while its last ones are being signed.
 */
import { createPrivateKey } from "node:crypto";
import { parentPort, workerData } from "node:worker_threads";
import type { JournalRecord } from "../journal/journal.ts";
import type { SealingJob } from "./record.ts";
import { createRecordSigner, sealAll } from "./sealer.ts";

export interface SealingThreadData {
  /** PKCS #8 in PEM. */
  readonly key: string;
}

const RECORDS_A_MESSAGE = 4;

const { key } = workerData as SealingThreadData;
const signer = createRecordSigner(createPrivateKey(key));
parentPort?.on("message", (job: SealingJob) => {
  let records: JournalRecord[] = [];
  sealAll(job, signer, (record) => {
    records.push(record);
    if (records.length < RECORDS_A_MESSAGE) return;
    parentPort?.postMessage(records);
    records = [];
  });
  if (records.length > 0) parentPort?.postMessage(records);
});
