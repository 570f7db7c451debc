/** The thread that sends spans: it receives batches and reports how many spans were lost. */
import { parentPort, workerData } from "node:worker_threads";
import { createOtlpSender } from "./otlp-sender.ts";
import type { Fate, NumberedBatch, SenderOptions } from "./thread-sender.ts";

const sender = createOtlpSender(workerData as SenderOptions);
parentPort?.on("message", async ({ id, ...batch }: NumberedBatch) => {
  const lost = await sender.send(batch);
  parentPort?.postMessage({ id, lost } satisfies Fate);
});
