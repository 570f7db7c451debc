/** Senders of spans: how they are made, and used. */
import type { CollectorAddress } from "./collector-address.ts";
import type { SpanRow } from "./span-record.ts";

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
