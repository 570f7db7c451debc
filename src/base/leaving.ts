/**
 * Reports outgoing requests over other protocols on `node:diagnostics_channel`; a tracer sets the
 * fields that let the other side continue the trace.
 */

import { channel, subscribe, unsubscribe } from "node:diagnostics_channel";

export interface Leaving {
  readonly kind: "peer" | "mcp" | "process" | "model";
  /** The operator's name for the other side. */
  readonly to: string;
  /** The method, tool, function or model that is called. */
  readonly operation: string;
}

/** W3C trace context; empty without a tracer. */
export interface TraceFields {
  readonly traceparent?: string;
  readonly tracestate?: string;
}

/** The token counts of a call, if known. */
interface LeavingUsage {
  readonly inputTokens?: number | undefined;
  readonly outputTokens?: number | undefined;
}

/** The message of the first channel, before the call. */
export interface LeavingMessage {
  readonly leaving: Leaving;
  /** Set by the tracer while the first channel is published. */
  fields: TraceFields;
  /** Set by a subscriber that runs the call within a context of its own. */
  around: (<T>(call: () => T) => T) | undefined;
}

/** The message of the second channel, after the call. */
export interface LeavingEnd {
  readonly message: LeavingMessage;
  /** The error that the call was rejected with. */
  readonly error?: unknown;
  readonly usage?: LeavingUsage | undefined;
}

export const LEAVING_CHANNELS = { begin: "agtpd:leaving", end: "agtpd:leaving:end" } as const;

const begun = channel(LEAVING_CHANNELS.begin);
const ended = channel(LEAVING_CHANNELS.end);
const NO_FIELDS: TraceFields = {};

/**
 * Makes a call and reports it on the channels; costs nothing without subscribers. `usageOf` counts
 * the tokens of a result.
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

/** Subscribes to both channels; returns the function that unsubscribes. */
export function listenTo(
  listeners: Readonly<Record<string, (message: never) => void>>,
): () => void {
  const entries = Object.entries(listeners) as [string, (message: unknown) => void][];
  for (const [name, listener] of entries) subscribe(name, listener);
  return () => {
    for (const [name, listener] of entries) unsubscribe(name, listener);
  };
}
