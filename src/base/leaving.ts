/**
 * Tells of requests that leave the daemon over a protocol of its own, on `node:diagnostics_channel`;
 * a tracer sets the fields by which the other side can follow.
 */

import { channel, subscribe, unsubscribe } from "node:diagnostics_channel";

export interface Leaving {
  readonly kind: "peer" | "mcp" | "process" | "model";
  /** The name that the operator has given the other side. */
  readonly to: string;
  /** The method, tool, function or model that is called. */
  readonly operation: string;
}

/** Trace context of W3C; empty while nobody traces. */
export interface TraceFields {
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/** The length of a call, where it is counted. */
interface LeavingUsage {
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
}

/** The message of the first channel. */
export interface LeavingMessage {
  readonly leaving: Leaving;
  /** Set by the tracer, when the first channel is published to. */
  fields: TraceFields;
  /** Set by a subscriber that has the call made within a context of its own. */
  around: (<T>(call: () => T) => T) | undefined;
}

/** The message of the second channel. */
export interface LeavingEnd {
  readonly message: LeavingMessage;
  /** The reason that the call was rejected with. */
  readonly error?: unknown;
  readonly usage?: LeavingUsage | undefined;
}

export const LEAVING_CHANNELS = { begin: "agtpd:leaving", end: "agtpd:leaving:end" } as const;

const begun = channel(LEAVING_CHANNELS.begin);
const ended = channel(LEAVING_CHANNELS.end);
const NO_FIELDS: TraceFields = {};

/**
 * Calls the other side, and tells of it; costs nothing while nobody listens. `usageOf` counts the
 * tokens of a result.
 */
export function tellingOf<T>(
  leaving: Leaving,
  call: (fields: TraceFields) => Promise<T>,
  usageOf?: (result: T) => LeavingUsage,
): Promise<T> {
  if (!begun.hasSubscribers) return call(NO_FIELDS);
  const message: LeavingMessage = { leaving, fields: NO_FIELDS, around: undefined };
  begun.publish(message);
  const telling = async (): Promise<T> => {
    try {
      const result = await call(message.fields);
      ended.publish({ message, usage: usageOf?.(result) } satisfies LeavingEnd);
      return result;
    } catch (error) {
      ended.publish({ message, error } satisfies LeavingEnd);
      throw error;
    }
  };
  return message.around === undefined ? telling() : message.around(telling);
}

/** Begins to listen; answers how to end it. */
export function listenTo(
  listeners: Readonly<Record<string, (message: never) => void>>,
): () => void {
  const entries = Object.entries(listeners) as [string, (message: unknown) => void][];
  for (const [name, listener] of entries) subscribe(name, listener);
  return () => {
    for (const [name, listener] of entries) unsubscribe(name, listener);
  };
}
