/** The thread that seals: takes jobs one after another, and sends back their records. */
import { createPrivateKey } from "node:crypto";
import { parentPort, workerData } from "node:worker_threads";
import { type SealingJob, sealAll } from "./sealer.ts";
import { createRecordSigner } from "./signer.ts";

/** What the thread is started with. */
export interface SealingThreadData {
  /** PKCS #8 in PEM. */
  readonly key: string;
}

const { key } = workerData as SealingThreadData;
const signer = createRecordSigner(createPrivateKey(key));
parentPort?.on("message", (job: SealingJob) => {
  parentPort?.postMessage(sealAll(job, signer));
});
