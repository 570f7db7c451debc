/**
 * The one interface that every handler implements: a function, a composition, an external service,
 * a floor method, a built-in.   AGTP-API §12
 */
import type { CallSignal } from "../base/abort-signal.ts";

/** The slice of a logger that handlers get. A field named like one of the line's own members gets a `_` appended. */
export interface CallLog {
  debug(fields: object, message?: string): void;
  info(fields: object, message?: string): void;
  warn(fields: object, message?: string): void;
  error(fields: object, message?: string): void;
}

/** The answer that `call.dispatch` resolves to, refusals included. */
export interface DispatchResult {
  readonly status: number;
  /** Lower-case names. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** One validated invocation. */
export interface Call {
  /** Body, query and path parameters, merged and valid under the endpoint's input schema. */
  readonly input: Readonly<Record<string, unknown>>;
  /** The method the request resolved to, after alias and redirect. */
  readonly method: string;
  /** The request path, after redirect, raw. */
  readonly path: string;
  /** The wire's method, when an alias or redirect changed it. */
  readonly requestedMethod: string | undefined;
  /** Decoded query parameters, last value of a repeated key. */
  readonly query: Readonly<Record<string, string>>;
  /** Lower-case names. A bearer token that the server has validated is not among them. */
  readonly headers: Readonly<Record<string, string>>;
  readonly agentId: string | undefined;
  /** The claim of the request, unless the agent is proven: then the value of its certificate or its document. */
  readonly ownerId: string | undefined;
  readonly principalId: string | undefined;
  /** The scopes this request acts under. */
  readonly scopes: readonly string[];
  /** 1 is strongest; undefined without an Agent-ID. */
  readonly trustTier: number | undefined;
  readonly sessionId: string | undefined;
  readonly taskId: string | undefined;
  readonly requestId: string | undefined;
  /** Aborted on timeout, on disconnect, and when a drain runs out of time. */
  readonly signal: CallSignal;
  readonly log: CallLog;
  /** Calls another endpoint, with the same identity and no more authority. Throws only for faults. */
  dispatch(
    method: string,
    path: string,
    input?: Readonly<Record<string, unknown>>,
  ): Promise<DispatchResult>;
}

/** A successful result: a body, or a status without one. */
export interface HandlerSuccess {
  /**
   * A JSON value; NaN or an infinite number in it is a fault. A `Uint8Array` is sent as it is, and
   * so is a text under a `Content-Type` that is not JSON. Without a body, `status` must be given
   * (204, say).
   */
  readonly body?: unknown;
  /** Default: 200. */
  readonly status?: number;
  /** At most 512 fields and 131,072 characters in all; more is a fault. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A named error; one that is not among the endpoint's `errors` is a fault. */
export interface HandlerError {
  readonly error: string;
  readonly message?: string;
  readonly details?: unknown;
}

/** The result of a handler. */
export type HandlerResult = HandlerSuccess | HandlerError;

/** Answers one call, synchronously or not; a throw is a fault, answered with 500. */
export type Handler = (call: Call) => HandlerResult | Promise<HandlerResult>;

/** Returns true if a handler's result is a named error. */
export function isHandlerError(result: HandlerResult): result is HandlerError {
  return "error" in result;
}
