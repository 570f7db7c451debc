/** Sends spans to the collector: on a thread of its own where the daemon runs as it is built. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { SenderOptions, SpanSender } from "./sending.ts";
import { ThreadSender } from "./thread-sender.ts";

/** The sender of a daemon. */
export function openSender(options: SenderOptions): SpanSender {
  const script = new URL("./sending-thread.js", import.meta.url);
  // A thread runs built code only; where the sources themselves run, there is none to start.
  if (existsSync(fileURLToPath(script))) return new ThreadSender({ script, ...options });
  const sender = import("./otlp-sender.ts").then(({ createOtlpSender }) =>
    createOtlpSender(options),
  );
  return {
    send: async (batch) => (await sender).send(batch),
    close: async () => (await sender).close(),
  };
}
