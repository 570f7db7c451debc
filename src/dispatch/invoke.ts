/**
 * Calls the handler and judges what comes back: a body the output schema accepts, an error the
 * endpoint declares, or a fault. A fault is logged with an id, and the caller learns only the id.
 * AGTP-API §6.4 "errors", §12, §13.3
 */
import { randomBytes } from "node:crypto";
import { type HandlerResult, isHandlerError } from "../handlers/handler.ts";
import { isFieldName, isFieldValue } from "../wire/header-fields.ts";
import { isStatus, isSuccess, type Status } from "../wire/status.ts";
import { CallContext, type CallServices } from "./call-context.ts";
import type { Deadlines, Expiring } from "./deadlines.ts";
import type { Exchange } from "./exchange.ts";
import { handlerTimeout, namedError, type Refusal, serverError } from "./refusal.ts";
import { AGTP_JSON, type Reply, replyToRefusal } from "./reply.ts";
import type { Route } from "./route.ts";

/** A fault on its way to the log. */
export interface Fault {
  readonly errorId: string;
  readonly exchange: Exchange;
  readonly message: string;
  readonly cause?: unknown;
}

export interface InvokeServices extends CallServices {
  readonly deadlines: Deadlines;
  reportFault(fault: Fault): void;
}

type Outcome = HandlerResult | Refusal;

/** What becomes of a reply; applied once, in the same turn as the handler settles. */
type Finish<T> = (reply: Reply) => T;

/** Answers the exchange with its route's handler; synchronous when the handler is. */
export function invoke<T>(
  exchange: Exchange,
  route: Route,
  services: InvokeServices,
  finish: Finish<T>,
): T | Promise<T> {
  let outcome: Outcome | Promise<Outcome>;
  try {
    outcome = route.handler(new CallContext(exchange, services));
  } catch (error) {
    return finish(faultReply(exchange, services, "the handler threw", error));
  }
  if (!(outcome instanceof Promise)) return finish(judge(exchange, route, outcome, services));
  return new Invocation(exchange, route, services, finish).settle(outcome);
}

/** A handler that is still running. It is over once: when it settles, or when its time is up. */
class Invocation<T> implements Expiring {
  readonly #exchange: Exchange;
  readonly #route: Route;
  readonly #services: InvokeServices;
  readonly #finish: Finish<T>;
  #resolve: ((value: T) => void) | undefined;

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
    return new Promise((resolve) => {
      this.#resolve = resolve;
      // What a handler dispatches ends with the call that dispatched it.
      const isTimed = this.#exchange.inner === undefined && !this.#route.endsInTime;
      if (isTimed) this.#services.deadlines.add(this);
      outcome.then(
        (value) => this.#over(judge(this.#exchange, this.#route, value, this.#services)),
        (error: unknown) => this.#threw(error),
      );
    });
  }

  expire(): void {
    const errorId = mintErrorId();
    const message = "the handler did not answer in time";
    this.#exchange.abort(new Error(message));
    this.#services.reportFault({ errorId, exchange: this.#exchange, message });
    this.#over(replyToRefusal(handlerTimeout(errorId)));
  }

  #threw(cause: unknown): void {
    // A handler that gives up because its time was up has been answered for.
    if (this.#resolve === undefined) return;
    this.#over(faultReply(this.#exchange, this.#services, "the handler threw", cause));
  }

  #over(reply: Reply): void {
    const resolve = this.#resolve;
    if (resolve === undefined) return;
    this.#resolve = undefined;
    this.#services.deadlines.delete(this);
    resolve(this.#finish(reply));
  }
}

function judge(
  exchange: Exchange,
  route: Route,
  outcome: Outcome,
  services: InvokeServices,
): Reply {
  const fault = (message: string): Reply => faultReply(exchange, services, message);
  if (typeof outcome !== "object" || outcome === null) return fault("the handler returned nothing");
  if (route.tier === "A" && "kind" in outcome) return replyToRefusal(outcome as Refusal);
  const result = outcome as HandlerResult;
  if (isHandlerError(result)) {
    if (!route.errors.has(result.error)) return fault(`undeclared error "${result.error}"`);
    return replyToRefusal(namedError(result.error, result.message, result.details));
  }
  const { status = 200, body, headers } = result;
  if (!isStatus(status)) return fault(`unknown status ${status}`);
  if (body === undefined && result.status === undefined) return fault("no body, error or status");
  if (headers !== undefined && !areFields(headers)) return fault("malformed response headers");
  if (isSuccess(status) && status !== 204) {
    const violations = route.output?.check(body);
    if (violations !== undefined) {
      const found = violations.map(({ path, message }) => `${path} ${message}`).join("; ");
      return fault(`the output does not satisfy the output schema: ${found}`);
    }
  }
  return successReply(status, body, headers);
}

function successReply(
  status: Status,
  body: unknown,
  headers: Readonly<Record<string, string>> | undefined,
): Reply {
  if (headers === undefined) {
    return { status, body, contentType: AGTP_JSON, headers, refusal: undefined };
  }
  const fields = Object.entries(headers);
  const contentType = fields.find(([name]) => name.toLowerCase() === "content-type")?.[1];
  const others = fields.filter(([name]) => !PROTOCOL_FIELDS.has(name.toLowerCase()));
  return {
    status,
    body,
    contentType: contentType ?? AGTP_JSON,
    headers: Object.fromEntries(others),
    refusal: undefined,
  };
}

/** Fields that only the server writes; a handler's are dropped. */
const PROTOCOL_FIELDS: ReadonlySet<string> = new Set([
  "content-type",
  "content-length",
  "transfer-encoding",
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
  "contract-synthesized",
]);

function areFields(headers: Readonly<Record<string, string>>): boolean {
  return Object.entries(headers).every(
    ([name, value]) => isFieldName(name) && typeof value === "string" && isFieldValue(value),
  );
}

/** Logs a fault and answers 500 with its id. */
export function faultReply(
  exchange: Exchange,
  services: Pick<InvokeServices, "reportFault">,
  message: string,
  cause?: unknown,
): Reply {
  const errorId = mintErrorId();
  services.reportFault({ errorId, exchange, message, cause });
  return replyToRefusal(serverError(errorId));
}

function mintErrorId(): string {
  return randomBytes(6).toString("hex");
}
