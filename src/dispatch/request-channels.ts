/**
 * The channels that tell the outcome of requests: `node:diagnostics_channel`, for metrics, traces
 * and pages.
 */
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
} as const;

/** The message of the refusal channel. */
export interface RequestRefusal {
  readonly exchange: Exchange;
  readonly refusal: Refusal;
}

/** The message of the end channel. */
export interface RequestEnd {
  readonly exchange: Exchange | undefined;
  readonly status: number;
  readonly durationMs: number;
}
