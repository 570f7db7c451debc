/**
 * Calls the handler within its deadline and makes a reply of its result. The approval step of the
 * call comes first: it is stored before the handler is called, and the handler is not called if
 * that fails. A fault is logged with an id, and the caller learns only the id: 500
 * `internal-error`, or 500 `handler-timeout`.   AGTP-API §12
 */
import { channel } from "node:diagnostics_channel";
import { quoteValue } from "../../base/json-value.ts";
import { AwaitedAnswer } from "../../handlers/call-upstream.ts";
import type { HandlerResult } from "../../handlers/handler.ts";
import { uuidv7 } from "../../identity/uuid.ts";
import { findStoreFault } from "../../state/store-fault.ts";
import { isFieldValue, isToken } from "../../wire/header-fields.ts";
import { isStatus, isSuccess, type Status } from "../../wire/message.ts";
import { concealRefusal } from "../concealment.ts";
import type { Exchange } from "../exchange.ts";
import type { Gate } from "../gates/gate.ts";
import { CHANNELS, type Fault, type HandlerBegin } from "../observer.ts";
import { handlerTimeout, namedError, type Refusal, serverError } from "../refusals/refusal.ts";
import {
  endOutcomeUnknown,
  storeOutcomeUnknown,
  storeUnavailable,
} from "../refusals/store-refusals.ts";
import { AGTP_JSON, type Reply, replyLater, replyToRefusal } from "../reply.ts";
import type { Outcome, Route } from "../routes/route.ts";
import { CallContext, type CallServices } from "./call-context.ts";
import type { Deadlines, Expiring } from "./deadlines.ts";

export interface InvokeServices extends CallServices {
  readonly deadlines: Deadlines;
  reportFault(fault: Fault): void;
}

/** Completes a reply; called once, in the turn in which the handler settles. */
type Finish<T> = (reply: Reply) => T;

const handling = channel(CHANNELS.handler);

/** Answers a request that passed all earlier gates, synchronously if nothing has to wait. */
export type CallHandler = <T>(
  exchange: Exchange,
  route: Route,
  finish: Finish<T>,
) => T | Promise<T>;

/** Creates a function that calls handlers behind a gate. */
export function createCallHandler(gate: Gate, services: InvokeServices): CallHandler {
  return (exchange, route, finish) => {
    const refuse = (refusal: Refusal) => finish(replyToRefusal(concealRefusal(refusal, route)));
    const refusal = gate(exchange);
    if (refusal !== undefined) return refuse(refusal);
    const { approvalStep } = exchange;
    if (approvalStep === undefined) return invoke(exchange, route, services, finish);
    return approvalStep.take().then(
      (answered) => {
        if (answered === undefined) return invoke(exchange, route, services, finish);
        if (!isRefusal(answered)) return finish(answered);
        exchange.refusedBy = "approval";
        return refuse(answered);
      },
      (cause: unknown) =>
        finish(faultReply(exchange, services, "an approval cannot be kept", cause)),
    );
  };
}

function isRefusal(answered: Refusal | Reply): answered is Refusal {
  return "kind" in answered;
}

/** Answers the exchange by its route's handler, synchronously if the handler is. */
export function invoke<T>(
  exchange: Exchange,
  route: Route,
  services: InvokeServices,
  finish: Finish<T>,
): T | Promise<T> {
  if (!handling.hasSubscribers) return callRoute(exchange, route, services, finish);
  const message: HandlerBegin = { exchange, route, around: undefined, onEnd: undefined };
  handling.publish(message);
  const { around, onEnd } = message;
  if (around === undefined && onEnd === undefined) {
    return callRoute(exchange, route, services, finish);
  }
  const telling: Finish<T> = (reply) => {
    onEnd?.(reply.status);
    return finish(reply);
  };
  const call = (): T | Promise<T> => callRoute(exchange, route, services, telling);
  return around === undefined ? call() : around(call);
}

function callRoute<T>(
  exchange: Exchange,
  route: Route,
  services: InvokeServices,
  finish: Finish<T>,
): T | Promise<T> {
  let outcome: Outcome | Promise<Outcome>;
  try {
    outcome = nativePromise(route.handler(new CallContext(exchange, services), exchange));
  } catch (error) {
    return finish(faultReply(exchange, services, "the handler threw", error));
  }
  if (!(outcome instanceof Promise)) return finish(replyTo(exchange, route, outcome, services));
  return new Invocation(exchange, route, services, finish).settle(outcome);
}

/** Converts a thenable to a native promise; query builders and the like return thenables.   AGTP-API §12.2 */
function nativePromise(outcome: Outcome | Promise<Outcome>): Outcome | Promise<Outcome> {
  if (typeof outcome !== "object" || outcome === null || outcome instanceof Promise) return outcome;
  return "then" in outcome && typeof outcome.then === "function"
    ? Promise.resolve(outcome as PromiseLike<Outcome>)
    : outcome;
}

/** A running handler, which ends once: when it settles, or when its deadline passes. */
class Invocation<T> implements Expiring {
  readonly #exchange: Exchange;
  readonly #route: Route;
  readonly #services: InvokeServices;
  readonly #finish: Finish<T>;
  #resolve: ((value: T) => void) | undefined;
  #reject: (error: unknown) => void = () => undefined;

  constructor(exchange: Exchange, route: Route, services: InvokeServices, finish: Finish<T>) {
    this.#exchange = exchange;
    this.#route = route;
    this.#services = services;
    this.#finish = finish;
  }

  get startedAt(): number {
    return this.#exchange.startedAt;
  }

  settle(outcome: Promise<Outcome>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
      // An inner dispatch shares the deadline of the call that made it.
      const isTimed = this.#exchange.inner === undefined && !this.#route.endsInTime;
      if (isTimed) this.#services.deadlines.add(this);
      outcome.then(
        (value) => this.#over(replyTo(this.#exchange, this.#route, value, this.#services)),
        (error: unknown) => this.#threw(error),
      );
    });
  }

  expire(): void {
    const errorId = uuidv7();
    const message = "the handler did not answer in time";
    this.#exchange.abort(new Error(message));
    this.#services.reportFault({ errorId, exchange: this.#exchange, message });
    this.#over(replyToRefusal(handlerTimeout(errorId)));
  }

  giveUp(): void {
    this.#exchange.abort(new Error("the server ends"));
    this.#over(replyToRefusal(endOutcomeUnknown()));
  }

  #threw(cause: unknown): void {
    // An exception after the deadline is ignored, since the timeout was answered.
    if (this.#resolve === undefined) return;
    this.#over(faultReply(this.#exchange, this.#services, "the handler threw", cause));
  }

  #over(reply: Reply): void {
    const resolve = this.#resolve;
    if (resolve === undefined) return;
    this.#resolve = undefined;
    this.#services.deadlines.delete(this);
    try {
      resolve(this.#finish(reply));
    } catch (error) {
      this.#reject(error);
    }
  }
}

function replyTo(
  exchange: Exchange,
  route: Route,
  outcome: Outcome,
  services: InvokeServices,
): Reply {
  try {
    const reply = replyToOutcome(route, outcome);
    return typeof reply === "string" ? faultReply(exchange, services, reply) : reply;
  } catch (error) {
    // A returned value may throw when read: getters, proxies, null for a record.
    return faultReply(exchange, services, "what the handler returned cannot be read", error);
  }
}

/**
 * Logs a fault and answers 500 with its id. A store failure is logged elsewhere and answers 503:
 * nothing was done, unless the exchange has acted or the store cannot tell if a change was made.
 */
export function faultReply(
  exchange: Exchange,
  services: Pick<InvokeServices, "reportFault">,
  message: string,
  cause?: unknown,
): Reply {
  const storeFault = findStoreFault(cause);
  if (storeFault !== undefined) {
    const mayBeDone = exchange.hasActed || storeFault.kind === "undecided";
    return replyToRefusal(mayBeDone ? storeOutcomeUnknown() : storeUnavailable());
  }
  const errorId = uuidv7();
  services.reportFault({ errorId, exchange, message, cause });
  return replyToRefusal(serverError(errorId));
}

type OutcomeRules = Pick<Route, "tier" | "errors" | "output" | "concealment">;

/**
 * Builds the reply of an outcome: a body that the output schema accepts, or an error that the
 * endpoint declares. Returns a text that describes any other outcome, which is a fault. The
 * operator's handlers may neither refuse for the protocol nor set its header fields.   AGTP-API
 * §6.4 "errors", §13.3
 */
export function replyToOutcome(route: OutcomeRules, outcome: Outcome): Reply | string {
  if (typeof outcome !== "object" || outcome === null) return describeNoResult(outcome);
  if (outcome instanceof AwaitedAnswer) return replyLater(outcome.body);
  if (route.tier !== "B" && "kind" in outcome && outcome.kind === "refusal") {
    return replyToRefusal(concealRefusal(outcome, route));
  }
  const result = outcome as HandlerResult;
  if ("error" in result) {
    if (!route.errors.has(result.error)) return `undeclared error "${result.error}"`;
    const named = namedError(result.error, result.message, result.details);
    return replyToRefusal(concealRefusal(named, route));
  }
  const { status = 200, body, headers } = result;
  if (typeof status !== "number" || !isStatus(status))
    return `unknown status ${quoteValue(status)}`;
  if (body === undefined && result.status === undefined) return describeNoBody(result);
  // In JSON a promise is an empty object, which many schemas accept.
  if (body instanceof Promise) return "the body is a promise: the handler has to await it";
  if (headers !== undefined && !areFields(headers)) return "malformed response headers";
  if (isSuccess(status) && status !== 204) {
    const violations = route.output?.check(body);
    if (violations !== undefined) {
      const found = violations.map(({ path, message }) => `${path || "/"} ${message}`).join("; ");
      return `the output does not satisfy the output schema: ${found}`;
    }
  }
  const reserved = route.tier === "B" ? PROTOCOL_FIELDS : FRAMING_FIELDS;
  return successReply(status, body, headers, reserved);
}

function describeNoResult(outcome: unknown): string {
  if (outcome === undefined || outcome === null) return "the handler returned nothing";
  return `the handler returned a ${typeof outcome}, expected { body } or { error }`;
}

function describeNoBody(result: object): string {
  const names = Object.keys(result).slice(0, 5).map(quoteValue).join(", ");
  const got = names === "" ? "nothing" : names;
  return `the handler returned an object of ${got}, expected { body } or { error }`;
}

function successReply(
  status: Status,
  body: unknown,
  headers: Readonly<Record<string, string>> | undefined,
  reserved: ReadonlySet<string>,
): Reply {
  if (headers === undefined) {
    return { status, body, contentType: AGTP_JSON, headers, refusal: undefined };
  }
  const fields = Object.entries(headers);
  const contentType = fields.find(([name]) => name.toLowerCase() === "content-type")?.[1];
  const others = fields.filter(([name]) => !reserved.has(name.toLowerCase()));
  return {
    status,
    body,
    contentType: contentType ?? AGTP_JSON,
    headers: Object.fromEntries(others),
    refusal: undefined,
  };
}

const FRAMING_FIELDS: ReadonlySet<string> = new Set([
  "content-type",
  "content-length",
  "transfer-encoding",
]);

/** Fields that only the protocol sets; an operator's are dropped. */
const PROTOCOL_FIELDS: ReadonlySet<string> = new Set([
  ...FRAMING_FIELDS,
  "server-id",
  "response-id",
  "request-id",
  "task-id",
  "agent-id",
  "agtp-api-version",
  "agtp-catalog-warning",
  "agtp-endpoint-warning",
  "attribution-record",
  "audit-id",
  "owner-id",
  "trust-tier",
  "trust-warning",
  "verification-path",
  "rcns-attempt-id",
  "contract-synthesized",
  "idempotency-replayed",
]);

/** Half of what clients accept in a response's head; the other half is for the server's own fields. */
const MAX_FIELDS = 512;
const MAX_FIELD_OCTETS = 131_072;

function areFields(headers: Readonly<Record<string, string>>): boolean {
  const fields = Object.entries(headers);
  let octets = 0;
  return (
    fields.length <= MAX_FIELDS &&
    fields.every(([name, value]) => {
      if (!isToken(name) || typeof value !== "string" || !isFieldValue(value)) return false;
      octets += name.length + value.length;
      return octets <= MAX_FIELD_OCTETS;
    })
  );
}
