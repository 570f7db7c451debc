/**
 * The channels that tell the outcome of requests: `node:diagnostics_channel`, for metrics, traces
 * and pages.
 */
/** Where it is told what became of requests: `node:diagnostics_channel`, for metrics, traces and pages. */

import type { Response } from "../wire/message.ts";
import type { Exchange } from "./exchange.ts";
import type { Refusal } from "./refusal.ts";

/** Channel names, and what their messages carry. */
export const CHANNELS = {
  /** `{exchange}` */
  start: "agtpd:request:start",
  /** `{exchange, refusal}`, just before the end. */
  refusal: "agtpd:request:refusal",
  /** `{exchange, status, durationMs}`; exchange is undefined for bytes that were no request. */
  end: "agtpd:request:end",
  /** `HandlerBegin` */
  handler: "agtpd:handler",
  /** `{exchange, status}`: the handler has answered. */
  handled: "agtpd:handler:end",
  /** `{exchange}`, of a request that a handler dispatches. */
  inner: "agtpd:inner",
  /** `InnerEnd` */
  innerEnd: "agtpd:inner:end",
} as const;

/** `{count}`: spans that no collector will see. */
export const DROPPED_CHANNEL = "agtpd:trace:dropped";

/** A handler is about to be called. */
export interface HandlerBegin {
  readonly exchange: Exchange;
  /** Set by who wants to have it called within something of their own. */
  around: (<T>(call: () => T) => T) | undefined;
}

/** The end of a request that a handler dispatched. */
export interface InnerEnd {
  readonly exchange: Exchange;
  readonly status: number;
  readonly refusal: Refusal | undefined;
}

/** The message of the refusal channel. */
export interface RequestRefusal {
  readonly exchange: Exchange;
  readonly refusal: Refusal;
}

/** The message of the end channel. */
export interface RequestEnd {
  readonly exchange: Exchange | undefined;
  readonly status: number;
  /** Undefined for bytes that were no request. */
  readonly response?: Response;
  readonly durationMs: number;
}
