/** Senders of spans: how they are made, and used. */
import type { CollectorAddress } from "./collector-address.ts";

/** Everything that sending needs to know, in a form that another thread can be given. */
export interface SenderOptions {
  readonly collector: CollectorAddress;
  /** The attributes of the daemon in the eyes of the collector. */
  readonly resource: Readonly<Record<string, string>>;
}

/** Spans that go together. */
export interface SpanBatch {
  readonly count: number;
  /** As `writeSpan` writes them; the sender's from then on. */
  readonly octets: Uint8Array<ArrayBuffer>;
}

export interface SpanSender {
  /** True once the collector has taken them. Never rejects. */
  send(batch: SpanBatch): Promise<boolean>;
  /** Sends no more. Never rejects. */
  close(): Promise<void>;
}
