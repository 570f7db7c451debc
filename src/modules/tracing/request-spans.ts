/**
 * Spans of requests: one for each incoming request, one for its handler, and one for each request that a handler
 * dispatches. The span of a refused request has the gate and the refusal's code. A request over HTTP has an HTTP span
 * around its own; pages and files have none.
 */

import type { AsyncLocalStorage } from "node:async_hooks";
import { textIn } from "../../base/json-value.ts";
import { listenTo } from "../../base/leaving.ts";
import type { Exchange } from "../../dispatch/exchange.ts";
import {
  CHANNELS,
  type HandlerBegin,
  type InnerBegin,
  type RequestEnd,
  type RequestRefusal,
} from "../../dispatch/observer.ts";
import type { Refusal } from "../../dispatch/refusals/refusal.ts";
import { markFailed } from "./leaving-spans.ts";
import {
  ATTRIBUTES,
  type HttpRequest,
  now,
  type Place,
  SPAN_KINDS,
  type SpanLink,
  SpanRecord,
  timeOf,
} from "./span-record.ts";
import type { Spans } from "./spans.ts";
import { readParent, tracedRoute } from "./traced-route.ts";

interface RequestSpansParts {
  readonly spans: Spans;
  readonly places: AsyncLocalStorage<Place>;
  /** True for a method of the catalog; other names never get into a trace. */
  isMethod(name: string): boolean;
}

export class RequestSpans {
  readonly #parts: RequestSpansParts;
  #underWay = 0;
  #onLast: (() => void) | undefined;
  #endBeginning: () => void = () => undefined;

  constructor(parts: RequestSpansParts) {
    this.#parts = parts;
  }

  /** Starts creating spans; returns the function that stops it. */
  listen(): () => void {
    this.#endBeginning = listenTo({
      [CHANNELS.start]: ({ exchange }: { readonly exchange: Exchange }) => this.#began(exchange),
    });
    const end = listenTo({
      [CHANNELS.refusal]: ({ exchange, refusal }: RequestRefusal) => {
        const span = knownSpan(exchange);
        if (span instanceof SpanRecord) describeRefusal(span, exchange, refusal);
      },
      [CHANNELS.end]: (message: RequestEnd) => this.#ended(message),
      [CHANNELS.handler]: (message: HandlerBegin) => this.#handling(message),
      [CHANNELS.inner]: (message: InnerBegin) => this.#dispatching(message),
    });
    return () => {
      this.#endBeginning();
      end();
    };
  }

  /** Leaves new requests to the next deployment's listener; calls back after the last of its own. */
  beginNoMore(onLast: () => void): void {
    this.#endBeginning();
    if (this.#underWay === 0) onLast();
    else this.#onLast = onLast;
  }

  #began(exchange: Exchange): void {
    const { spans, places } = this.#parts;
    const place = places.getStore();
    const parent = place === undefined ? parentOf(exchange) : this.#around(place, exchange);
    const at = timeOf(exchange.startedAt);
    const { server } = SPAN_KINDS;
    const made =
      parent === undefined
        ? spans.root("AGTP", server, at)
        : (spans.within(parent, "AGTP", server, at) ?? parent);
    if (typeof made === "string") {
      exchange.traceId = made;
      return;
    }
    exchange.traceId = made.traceId;
    exchange.span = made;
    if (!(made instanceof SpanRecord)) return;
    made.begunBy = this;
    this.#underWay += 1;
  }

  #around({ span, http }: Place, exchange: Exchange): SpanLink | undefined {
    if (span !== undefined) return span;
    if (http === undefined) return parentOf(exchange);
    return httpSpan(http, this.#parts.spans, (name) => exchange.header(name));
  }

  /** The span of a request; of an unsampled one, a link for its calls. */
  #linkOf(exchange: Exchange): SpanLink | undefined {
    const known = knownSpan(exchange);
    const { traceId, inner } = exchange;
    if (known !== undefined) return known;
    if (inner !== undefined) return this.#linkOf(inner.parent);
    return traceId === undefined ? undefined : this.#parts.spans.unsampled(traceId);
  }

  #handling(message: HandlerBegin): void {
    const { exchange, route } = message;
    const { staysInside: isInside } = tracedRoute(route);
    const request = isInside ? knownSpan(exchange) : this.#linkOf(exchange);
    if (request === undefined) return;
    // A dispatched request has a single span, which covers its handler.
    const span = exchange.inner === undefined ? this.#handlerSpan(message, request) : undefined;
    if (isInside) return;
    const { places } = this.#parts;
    message.around = (call) => places.run({ ...places.getStore(), span: span ?? request }, call);
  }

  #handlerSpan(message: HandlerBegin, request: SpanLink): SpanRecord | undefined {
    const { spans } = this.#parts;
    const span = spans.within(request, "handler", SPAN_KINDS.internal);
    if (span === undefined) return undefined;
    span.shape = tracedRoute(message.route).handlerShape;
    if (request instanceof SpanRecord) request.handler = span;
    message.onEnd = (status) => {
      if (status >= 500) markFailed(span, String(status));
      spans.end(span);
    };
    return span;
  }

  #dispatching(message: InnerBegin): void {
    const { exchange } = message;
    const parent = exchange.inner?.parent;
    const known = parent && knownSpan(parent);
    if (known === undefined) return;
    const around = (known instanceof SpanRecord && known.handler) || known;
    const { spans } = this.#parts;
    const span = spans.within(around, "AGTP", SPAN_KINDS.internal);
    exchange.span = span ?? around;
    if (span === undefined) return;
    message.onEnd = (status, refusal) => {
      if (refusal !== undefined) describeRefusal(span, exchange, refusal);
      this.#describe(span, exchange, status);
      spans.end(span);
    };
  }

  #ended({ exchange, status, response, durationMs }: RequestEnd): void {
    if (exchange === undefined) return;
    const span = knownSpan(exchange);
    if (!(span instanceof SpanRecord) || span.begunBy !== this) return;
    this.#describe(span, exchange, status);
    this.#parts.spans.end(span, span.startedAt + durationMs, response?.lateFields);
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#onLast?.();
  }

  #describe(span: SpanRecord, exchange: Exchange, status: number): void {
    const { route, caller, contract } = exchange;
    if (route !== undefined) span.shape = tracedRoute(route).requestShape(status);
    else {
      span.set(ATTRIBUTES.status, status);
      this.#nameMethod(span, exchange.method);
    }
    if (caller.agentId !== undefined) span.set(ATTRIBUTES.agentId, caller.agentId);
    if (contract !== undefined) span.set(ATTRIBUTES.synthesisId, contract.synthesis_id);
    if (status >= 500) markFailed(span, String(status));
  }

  /** Without an endpoint, only the method names the request. */
  #nameMethod(span: SpanRecord, method: string): void {
    if (!this.#parts.isMethod(method)) return;
    span.name = method;
    span.set(ATTRIBUTES.method, method);
  }
}

/** The parent that a request names in `traceparent`; most requests name none. */
function parentOf(exchange: Exchange): SpanLink | undefined {
  if (exchange.header("traceparent") === undefined) return undefined;
  return readParent((name) => exchange.header(name));
}

/** The span of a request; of an unsampled one its named parent, if any. */
function knownSpan({ span }: Exchange): SpanLink | undefined {
  return span as SpanLink | undefined;
}

function describeRefusal(span: SpanRecord, exchange: Exchange, { code }: Refusal): void {
  if (exchange.refusedBy !== undefined) span.set(ATTRIBUTES.gate, exchange.refusedBy);
  span.set(ATTRIBUTES.error, code);
}

/** Starts noting HTTP requests; returns the function that stops it. */
export function listenToHttp(places: AsyncLocalStorage<Place>): () => void {
  return listenTo({
    "http.server.request.start": ({ request, response }: Omit<HttpRequest, "startedAt">) =>
      places.enterWith({ http: { request, response, startedAt: now() } }),
  });
}

/** The span of an HTTP request, created at first use; fields of `own` take precedence. */
function httpSpan(
  http: HttpRequest,
  spans: Spans,
  own: (name: string) => string | undefined,
): SpanLink {
  if (http.span !== undefined) return http.span;
  const { method = "", headers } = http.request;
  const parent = readParent((name) => {
    const value = own("traceparent") === undefined ? headers[name] : own(name);
    return textIn(value);
  });
  const made =
    parent === undefined
      ? spans.root(method, SPAN_KINDS.server, http.startedAt)
      : (spans.within(parent, method, SPAN_KINDS.server, http.startedAt) ?? parent);
  const span = typeof made === "string" ? spans.unsampled(made) : made;
  http.span = span;
  if (span instanceof SpanRecord) {
    span.set(ATTRIBUTES.httpMethod, method);
    http.response.once("close", () => endHttpSpan(span, spans, http.response));
  }
  return span;
}

/** Ends the span; a client that disconnected was sent no status. */
function endHttpSpan(
  span: SpanRecord,
  spans: Spans,
  { statusCode, writableFinished }: HttpRequest["response"],
): void {
  if (writableFinished) {
    span.set(ATTRIBUTES.httpStatus, statusCode);
    if (statusCode >= 500) span.hasFailed = true;
  }
  spans.end(span);
}
