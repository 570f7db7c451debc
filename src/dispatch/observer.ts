/**
 * Observers of requests: logs, metrics and traces stay outside the pipeline. They are notified by
 * calls, or on the channels of `node:diagnostics_channel`.
 */
import type { CallLog } from "../handlers/handler.ts";
import type { Response, WireFault } from "../wire/message.ts";
import type { Peer } from "./caller/peer.ts";
import type { Exchange } from "./exchange.ts";
import type { Refusal } from "./refusals/refusal.ts";
import type { Reply } from "./reply.ts";
import type { Route } from "./routes/route.ts";

/** A fault to be logged. */
export interface Fault {
  readonly errorId: string;
  readonly exchange: Exchange;
  readonly message: string;
  readonly cause?: unknown;
}

/** Notified of each request. */
export interface Observer {
  /** Tells whether anybody observes the end of requests with this status. */
  hears(status: number): boolean;
  start(exchange: Exchange): void;
  end(exchange: Exchange, response: Response, reply: Reply): void;
  wireFault(fault: WireFault, response: Response, peer?: Peer): void;
  fault(fault: Fault): void;
  logFor(exchange: Exchange): CallLog;
}

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
  /** `InnerBegin` */
  inner: "agtpd:inner",
} as const;

/** `{count}`: the number of spans that were dropped before they reached a collector. */
export const DROPPED_CHANNEL = "agtpd:trace:dropped";

/** Published before a handler is called. */
export interface HandlerBegin {
  readonly exchange: Exchange;
  readonly route: Route;
  /** Set by a subscriber that runs the handler within a context of its own. */
  around: (<T>(call: () => T) => T) | undefined;
  /** Set by a subscriber that wants the status of its answer. */
  onEnd: ((status: number) => void) | undefined;
}

/** Published when a handler dispatches a request. */
export interface InnerBegin {
  readonly exchange: Exchange;
  /** Set by a subscriber that wants its outcome. */
  onEnd: ((status: number, refusal: Refusal | undefined) => void) | undefined;
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
