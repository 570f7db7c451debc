/**
 * Spans of requests: one for each that comes in, one for its handler, one for each that a handler
 * dispatches. A refused one has the gate and the code of its refusal.
 */
import type { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import {
  type Context,
  type Span,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import type { Exchange } from "../../dispatch/exchange.ts";
import type { Refusal } from "../../dispatch/refusal.ts";
import {
  CHANNELS,
  type HandlerBegin,
  type InnerEnd,
  type RequestEnd,
  type RequestRefusal,
} from "../../dispatch/request-channels.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { ATTRIBUTES } from "./attributes.ts";
import { now } from "./clock.ts";
import { EndingSpans } from "./ending-spans.ts";
import { httpContext } from "./http-requests.ts";
import type { Place } from "./place.ts";
import type { RootDecision } from "./root-decision.ts";
import { contextOf, readContext } from "./trace-context.ts";

/** The parts that spans of requests are made with. */
export interface RequestSpansParts {
  readonly tracer: Tracer;
  readonly roots: RootDecision;
  readonly places: AsyncLocalStorage<Place>;
  /** Tells a method of the catalog: no other name stands in a trace. */
  isMethod(name: string): boolean;
}

type WithExchange = { readonly exchange: Exchange };

export class RequestSpans {
  readonly #parts: RequestSpansParts;
  readonly #requests = new WeakMap<Exchange, Span>();
  readonly #handlers = new WeakMap<Exchange, Span>();
  readonly #ending = new EndingSpans();
  #underWay = 0;
  #onLast: (() => void) | undefined;
  #endBeginning: () => void = () => undefined;

  constructor(parts: RequestSpansParts) {
    this.#parts = parts;
  }

  /** Makes spans from now on; answers how to end it. */
  listen(): () => void {
    const listeners: Readonly<Record<string, (message: never) => void>> = {
      [CHANNELS.refusal]: ({ exchange, refusal }: RequestRefusal) =>
        this.#refused(exchange, refusal),
      [CHANNELS.end]: (message: RequestEnd) => this.#ended(message),
      [CHANNELS.handled]: ({ exchange, status }: WithExchange & { readonly status: number }) =>
        this.#handled(exchange, status),
      [CHANNELS.handler]: (message: HandlerBegin) => this.#handling(message),
      [CHANNELS.inner]: ({ exchange }: WithExchange) => this.#dispatching(exchange),
      [CHANNELS.innerEnd]: (message: InnerEnd) => this.#innerEnded(message),
    };
    const begin = (message: unknown): void => this.#began((message as WithExchange).exchange);
    subscribe(CHANNELS.start, begin);
    this.#endBeginning = () => unsubscribe(CHANNELS.start, begin);
    const entries = Object.entries(listeners).map(
      ([name, listener]) => [name, (message: unknown) => listener(message as never)] as const,
    );
    for (const [name, listener] of entries) subscribe(name, listener);
    return () => {
      this.#endBeginning();
      for (const [name, listener] of entries) unsubscribe(name, listener);
    };
  }

  /** Other requests are another's; calls back after the last of these. */
  beginNoMore(onLast: () => void): void {
    this.#endBeginning();
    if (this.#underWay === 0) onLast();
    else this.#onLast = onLast;
  }

  /** Ends what waits for the id of its record. */
  close(): void {
    this.#ending.close();
  }

  #began(exchange: Exchange): void {
    const { places, roots } = this.#parts;
    const field = (name: string): string | undefined => exchange.header(name);
    const { span: around, http } = places.getStore() ?? {};
    if (around !== undefined) this.#begin(exchange, contextOf(around));
    else if (http !== undefined) this.#begin(exchange, httpContext(http, this.#parts, field));
    else {
      const parent = readContext(field);
      if (trace.getSpanContext(parent) !== undefined) this.#begin(exchange, parent);
      else exchange.traceId = roots.decide(() => this.#begin(exchange, parent));
    }
  }

  #begin(exchange: Exchange, parent: Context): void {
    const options = { kind: SpanKind.SERVER, startTime: now() };
    const span = this.#parts.tracer.startSpan("AGTP", options, parent);
    this.#requests.set(exchange, span);
    this.#underWay += 1;
    exchange.traceId = span.spanContext().traceId;
  }

  /** The span of a request; of one that is not sampled, what others are to be told of it. */
  #spanOf(exchange: Exchange): Span | undefined {
    const known = this.#requests.get(exchange);
    const { traceId } = exchange;
    if (known !== undefined || traceId === undefined) return known;
    const spanId = this.#parts.roots.ids.generateSpanId();
    return trace.wrapSpanContext({ traceId, spanId, traceFlags: TraceFlags.NONE });
  }

  #handling(message: HandlerBegin): void {
    const { tracer } = this.#parts;
    const { exchange } = message;
    const { definition } = exchange.route ?? {};
    const isInside = definition !== undefined && staysInside(definition);
    const request = isInside ? this.#requests.get(exchange) : this.#spanOf(exchange);
    if (request === undefined) return;
    let span = request;
    // What is dispatched has a span of its own, which is that of its handler.
    if (request.isRecording() && exchange.inner === undefined) {
      const attributes =
        definition === undefined ? {} : { [ATTRIBUTES.handler]: definition.handler.type };
      span = tracer.startSpan("handler", { attributes, startTime: now() }, contextOf(request));
      this.#handlers.set(exchange, span);
    }
    if (isInside) return;
    const { places } = this.#parts;
    message.around = (call) => places.run({ ...places.getStore(), span }, call);
  }

  #handled(exchange: Exchange, status: number): void {
    const span = this.#handlers.get(exchange);
    if (span === undefined) return;
    this.#handlers.delete(exchange);
    markFault(span, status);
    span.end(now());
  }

  #dispatching(exchange: Exchange): void {
    const parent = exchange.inner?.parent;
    const around = parent && (this.#handlers.get(parent) ?? this.#spanOf(parent));
    if (around === undefined) return;
    const span = this.#parts.tracer.startSpan("AGTP", { startTime: now() }, contextOf(around));
    this.#requests.set(exchange, span);
  }

  #innerEnded({ exchange, status, refusal }: InnerEnd): void {
    const span = this.#requests.get(exchange);
    if (span === undefined) return;
    this.#requests.delete(exchange);
    if (refusal !== undefined) describeRefusal(span, exchange, refusal);
    this.#describe(span, exchange, status);
    span.end(now());
  }

  #refused(exchange: Exchange, refusal: Refusal): void {
    const span = this.#requests.get(exchange);
    if (span?.isRecording() === true) describeRefusal(span, exchange, refusal);
  }

  #ended({ exchange, status, response }: RequestEnd): void {
    const span = exchange && this.#requests.get(exchange);
    if (span === undefined || exchange === undefined) return;
    this.#requests.delete(exchange);
    if (span.isRecording()) {
      this.#describe(span, exchange, status);
      this.#ending.end(span, response?.lateFields);
    }
    this.#underWay -= 1;
    if (this.#underWay === 0) this.#onLast?.();
  }

  #describe(span: Span, exchange: Exchange, status: number): void {
    if (!span.isRecording()) return;
    const { route, caller, contract } = exchange;
    const method = route?.method ?? exchange.method;
    const isKnown = this.#parts.isMethod(method) || route !== undefined;
    if (isKnown) {
      span.updateName(route === undefined ? method : `${method} ${route.path}`);
      span.setAttribute(ATTRIBUTES.method, method);
    }
    if (route !== undefined) {
      span.setAttribute(ATTRIBUTES.path, route.path);
      span.setAttribute(ATTRIBUTES.tier, route.tier);
    }
    span.setAttribute(ATTRIBUTES.status, status);
    if (caller.agentId !== undefined) span.setAttribute(ATTRIBUTES.agentId, caller.agentId);
    if (contract !== undefined) {
      span.setAttribute(ATTRIBUTES.synthesisId, contract.synthesis_id);
    }
    markFault(span, status);
  }
}

/**
 * A function that an endpoint file names, and a composition, are called as they are: keeping places
 * slows every promise of the process down, and what they dispatch is found by its request.
 */
function staysInside({ handler, file }: EndpointDefinition): boolean {
  if (handler.type === "composition") return true;
  const isModules = handler.type === "registered_function" && !handler.function.includes(":");
  return isModules && file.endsWith(".toml");
}

function describeRefusal(span: Span, exchange: Exchange, { code }: Refusal): void {
  if (exchange.refusedBy !== undefined) span.setAttribute(ATTRIBUTES.gate, exchange.refusedBy);
  span.setAttribute(ATTRIBUTES.error, code);
}

function markFault(span: Span, status: number): void {
  if (status < 500) return;
  span.setAttribute(ATTRIBUTES.errorType, String(status));
  span.setStatus({ code: SpanStatusCode.ERROR });
}
