/**
 * The `call` object that a handler receives. Expensive members (headers, query, abort signal, child
 * logger) are created on first use.
 */
import type { Call, CallLog, DispatchResult } from "../../handlers/handler.ts";
import type { Exchange } from "../exchange.ts";

/** The services of a call that its exchange does not have. */
export interface CallServices {
  /** A logger bound to the call's identifiers. */
  logFor(exchange: Exchange): CallLog;
  /** Runs another request with the same caller. */
  dispatch(
    parent: Exchange,
    method: string,
    path: string,
    input: Readonly<Record<string, unknown>>,
  ): Promise<DispatchResult>;
}

const NO_QUERY: Readonly<Record<string, string>> = Object.freeze({});

export class CallContext implements Call {
  readonly input: Readonly<Record<string, unknown>>;
  readonly #exchange: Exchange;
  readonly #services: CallServices;
  #headers: Readonly<Record<string, string>> | undefined;
  #log: CallLog | undefined;
  #dispatch: Call["dispatch"] | undefined;

  constructor(exchange: Exchange, services: CallServices, input: Call["input"] = exchange.input) {
    this.input = input;
    this.#exchange = exchange;
    this.#services = services;
  }

  /** Returns the call with another input or dispatch function. */
  static changed(call: Call, { input, dispatch }: Partial<Pick<Call, "input" | "dispatch">>): Call {
    if (!(#exchange in call)) throw new TypeError("the call is none of the pipeline's");
    const changed = new CallContext(call.#exchange, call.#services, input ?? call.input);
    changed.#dispatch = dispatch ?? call.#dispatch;
    return changed;
  }

  get method(): string {
    return this.#exchange.method;
  }

  get path(): string {
    return this.#exchange.path;
  }

  get requestedMethod(): string | undefined {
    return this.#exchange.requestedMethod;
  }

  get query(): Readonly<Record<string, string>> {
    const { query } = this.#exchange;
    return query === undefined ? NO_QUERY : Object.fromEntries(query);
  }

  get headers(): Readonly<Record<string, string>> {
    this.#headers ??= Object.freeze(headersFor(this.#exchange));
    return this.#headers;
  }

  get agentId(): string | undefined {
    return this.#exchange.caller.agentId;
  }

  get ownerId(): string | undefined {
    return this.#exchange.caller.ownerId;
  }

  get principalId(): string | undefined {
    return this.#exchange.caller.principalId;
  }

  /** Copied, since the list itself is shared with the agent's document. */
  get scopes(): readonly string[] {
    return [...this.#exchange.caller.authority.scopes];
  }

  get trustTier(): number | undefined {
    return this.#exchange.caller.trustTier;
  }

  get sessionId(): string | undefined {
    return this.#exchange.sessionId;
  }

  get taskId(): string | undefined {
    return this.#exchange.taskId;
  }

  get requestId(): string | undefined {
    return this.#exchange.header("request-id");
  }

  get signal(): AbortSignal {
    return this.#exchange.signal;
  }

  get log(): CallLog {
    this.#log ??= this.#services.logFor(this.#exchange);
    return this.#log;
  }

  /** Bound, so that a handler may destructure it. */
  get dispatch(): Call["dispatch"] {
    this.#dispatch ??= (method, path, input = {}) =>
      this.#services.dispatch(this.#exchange, method, path, input);
    return this.#dispatch;
  }
}

/** Returns the headers without a validated bearer token, which a handler must not log. */
function headersFor({ request, caller }: Exchange): Record<string, string> {
  const fields = [...request.headers];
  if (caller.principalId === undefined) return Object.fromEntries(fields);
  return Object.fromEntries(fields.filter(([name]) => name !== "authorization"));
}
