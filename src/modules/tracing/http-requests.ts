/**
 * Requests over HTTP, as the platform tells of them. One that becomes a request of AGTP has a span
 * around it; pages and files have none.
 */
import type { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { SpanKind, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import { ATTRIBUTES } from "./attributes.ts";
import { now } from "./clock.ts";
import type { HttpMessage, HttpRequest, Place } from "./place.ts";
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
  tracer: Tracer,
  own: (name: string) => string | undefined,
): ReturnType<typeof readContext> {
  const { method = "", headers } = http.request;
  http.span ??= tracer.startSpan(
    method,
    {
      kind: SpanKind.SERVER,
      startTime: http.startedAt,
      attributes: { [ATTRIBUTES.httpMethod]: method },
    },
    readContext((name) => {
      const value = own("traceparent") === undefined ? headers[name] : own(name);
      return typeof value === "string" ? value : undefined;
    }),
  );
  return contextOf(http.span);
}
