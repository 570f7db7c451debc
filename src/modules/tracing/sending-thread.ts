/** The thread that makes the library's spans, encodes and sends them: batches in, their fate out. */
import { parentPort, workerData } from "node:worker_threads";
import { createOtlpSender } from "./otlp-sender.ts";
import type { SenderOptions } from "./sending.ts";
import type { Batch, Fate } from "./thread-sender.ts";

const sender = createOtlpSender(workerData as SenderOptions);
parentPort?.on("message", async ({ id, rows }: Batch) => {
  const isTaken = await sender.send(rows);
  parentPort?.postMessage({ id, isTaken } satisfies Fate);
});
