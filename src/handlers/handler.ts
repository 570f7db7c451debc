/**
 * The one interface every handler implements, whatever realises it: a function, a composition, an
 * external service, a floor method, a built-in.   AGTP-API §12
 */
import type { CallSignal } from "../base/abort-signal.ts";

/** The slice of a logger that handlers get. A field that bears the name of the line's own member has `_` behind it. */
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
  /** As the request claims, unless the agent is proven: then by its certificate, or its document. */
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
  /** Another endpoint, with the same identity and no more authority. Throws only for faults. */
  dispatch(
    method: string,
    path: string,
    input?: Readonly<Record<string, unknown>>,
  ): Promise<DispatchResult>;
}

/** A result: a body, or a status that has none. */
export interface HandlerSuccess {
  /** A JSON value, and a fault with NaN or an infinite number in it; a `Uint8Array` is sent as it is, and so is a text under a `Content-Type` that is not JSON. Without one, `status` must be given (204, say). */
  readonly body?: unknown;
  /** 200 unless given. */
  readonly status?: number;
  /** 512 of them and 131,072 characters in all at most; more is a fault. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A named error; it must be in the endpoint's `errors`, or it is a fault. */
export interface HandlerError {
  readonly error: string;
  readonly message?: string;
  readonly details?: unknown;
}

/** The result of a handler. */
export type HandlerResult = HandlerSuccess | HandlerError;

/** Answers one call, at once or later; a throw is a fault, answered with 500. */
export type Handler = (call: Call) => HandlerResult | Promise<HandlerResult>;

/** Tells whether a handler's result is a named error. */
export function isHandlerError(result: HandlerResult): result is HandlerError {
  return "error" in result;
}
