/** The queue of webhook messages, which are retried until they are delivered or expire. */
import type { JsonRecord } from "../../base/json-value.ts";

export interface WebhookMessage {
  /** The message id; a receiver may get the same message more than once. */
  readonly id: string;
  readonly url: string;
  readonly body: JsonRecord;
  /** The end of the retries, in milliseconds since the epoch. */
  readonly expiresAt: number;
  /** The agent on whose behalf it is sent; undefined for the server itself. */
  readonly owner?: string;
}

/** A message with its options: `isOnce` for a single attempt, `isNews` if nobody asks for its fate. */
export interface OutgoingMessage extends WebhookMessage {
  readonly isOnce?: boolean;
  readonly isNews?: true;
}

export interface WebhookQueue {
  /** Resolves once the message is stored; it is then sent until it is accepted or expires. */
  enqueue(message: WebhookMessage): Promise<void>;
}
