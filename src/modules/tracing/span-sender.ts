/** Sends spans to the collector: on a thread of its own where the daemon runs as it is built. */
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import type { CollectorAddress } from "./collector-address.ts";
import type { SpanRow } from "./span-record.ts";
import { ThreadSender } from "./thread-sender.ts";

/** Everything that sending needs to know, in a form that another thread can be given. */
export interface SenderOptions {
  readonly collector: CollectorAddress;
  /** The attributes of the daemon in the eyes of the collector. */
  readonly resource: Readonly<Record<string, string>>;
}

export interface SpanSender {
  /** True once the collector has taken them. Never rejects. */
  send(rows: readonly SpanRow[]): Promise<boolean>;
  /** Sends no more. Never rejects. */
  close(): Promise<void>;
}

/** The sender of a daemon. */
export function openSender(options: SenderOptions): SpanSender {
  const script = new URL("./sending-thread.js", import.meta.url);
  // A thread runs built code only; where the sources themselves run, there is none to start.
  if (existsSync(fileURLToPath(script))) return new ThreadSender({ script, ...options });
  const sender = import("./otlp-sender.ts").then(({ createOtlpSender }) =>
    createOtlpSender(options),
  );
  return {
    send: async (rows) => (await sender).send(rows),
    close: async () => (await sender).close(),
  };
}
