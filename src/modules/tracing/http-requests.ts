/**
 * Requests over HTTP, as the platform tells of them. One that becomes a request of AGTP has a span
 * around it; pages and files have none.
 */
import type { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import {
  type Context,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from "@opentelemetry/api";
import { ATTRIBUTES } from "./attributes.ts";
import { now } from "./clock.ts";
import type { HttpMessage, HttpRequest, Place } from "./place.ts";
import type { RootDecision } from "./root-decision.ts";
import { contextOf, readContext } from "./trace-context.ts";

const START = "http.server.request.start";
const FINISH = "http.server.response.finish";

/** Notes requests from now on; answers how to end it. */
export function listenToHttp(places: AsyncLocalStorage<Place>): () => void {
  const known = new WeakMap<HttpMessage, HttpRequest>();
  const onStart = (message: unknown): void => {
    const { request } = message as { readonly request: HttpMessage };
    const http: HttpRequest = { request, startedAt: now() };
    known.set(request, http);
    places.enterWith({ http });
  };
  const onFinish = (message: unknown): void => {
    const { request, response } = message as {
      readonly request: HttpMessage;
      readonly response: { readonly statusCode: number };
    };
    const span = known.get(request)?.span;
    if (span === undefined) return;
    span.setAttribute(ATTRIBUTES.httpStatus, response.statusCode);
    if (response.statusCode >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end(now());
  };
  subscribe(START, onStart);
  subscribe(FINISH, onFinish);
  return () => {
    unsubscribe(START, onStart);
    unsubscribe(FINISH, onFinish);
  };
}

/** The context of what comes of it; `own` are fields that count more than its own. */
export function httpContext(
  http: HttpRequest,
  { tracer, roots }: { readonly tracer: Tracer; readonly roots: RootDecision },
  own: (name: string) => string | undefined,
): Context {
  if (http.span !== undefined) return contextOf(http.span);
  const { method = "", headers } = http.request;
  const parent = readContext((name) => {
    const value = own("traceparent") === undefined ? headers[name] : own(name);
    return typeof value === "string" ? value : undefined;
  });
  const begin = (): void => {
    const attributes = { [ATTRIBUTES.httpMethod]: method };
    const options = { kind: SpanKind.SERVER, startTime: http.startedAt, attributes };
    http.span = tracer.startSpan(method, options, parent);
  };
  if (trace.getSpanContext(parent) !== undefined) begin();
  else {
    const traceId = roots.decide(begin);
    const spanId = roots.ids.generateSpanId();
    http.span ??= trace.wrapSpanContext({ traceId, spanId, traceFlags: TraceFlags.NONE });
  }
  return http.span === undefined ? parent : contextOf(http.span);
}
