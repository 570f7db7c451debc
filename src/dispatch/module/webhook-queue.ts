/** The way to people: what is put here is sent to their endpoint, however often it takes. */
import type { JsonRecord } from "../../base/json-value.ts";

export interface WebhookMessage {
  /** The receiver may see it more than once, under the same id. */
  readonly id: string;
  readonly url: string;
  readonly body: JsonRecord;
  /** Milliseconds since the epoch; it is not tried after that. */
  readonly expiresAt: number;
  /** The agent on whose behalf it is sent; undefined: the server's own. */
  readonly owner?: string;
}

/** A message, whether it is tried once only, and whether nobody asks what becomes of it. */
export interface OutgoingMessage extends WebhookMessage {
  readonly isOnce?: boolean;
  readonly isNews?: true;
}

export interface WebhookQueue {
  /** Resolves when it is kept: it is tried until it was taken or has expired. */
  enqueue(message: WebhookMessage): Promise<void>;
}
