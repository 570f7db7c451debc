/**
 * Spans of requests that leave over HTTP: to upstreams, webhooks, MCP servers, AGNTCY agents and
 * models. undici tells of each, and takes the fields by which the other side can follow.
 */
import type { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { type Span, SpanKind, SpanStatusCode, type Tracer } from "@opentelemetry/api";
import { ATTRIBUTES } from "./attributes.ts";
import { now } from "./clock.ts";
import type { Place } from "./place.ts";
import { contextOf, fieldsOf } from "./trace-context.ts";

/** The part of undici's request that is used. */
interface Leaving {
  readonly origin: string | URL;
  readonly method: string;
  addHeader(name: string, value: string): unknown;
}

interface Told {
  readonly request: Leaving;
  readonly response?: { readonly statusCode: number };
  readonly error?: unknown;
}

/** Makes spans from now on; answers how to end it. */
export function listenToUndici(tracer: Tracer, places: AsyncLocalStorage<Place>): () => void {
  const spans = new WeakMap<Leaving, Span>();
  const listeners: Readonly<Record<string, (told: Told) => void>> = {
    "undici:request:create": ({ request }) => {
      const parent = places.getStore()?.span;
      if (parent === undefined) return;
      const { hostname, port, protocol } = new URL(request.origin);
      const span = tracer.startSpan(
        request.method,
        {
          kind: SpanKind.CLIENT,
          startTime: now(),
          attributes: {
            [ATTRIBUTES.httpMethod]: request.method,
            [ATTRIBUTES.serverAddress]: hostname,
            [ATTRIBUTES.serverPort]: Number(port) || (protocol === "https:" ? 443 : 80),
          },
        },
        contextOf(parent),
      );
      spans.set(request, span);
      for (const [name, value] of Object.entries(fieldsOf(span))) request.addHeader(name, value);
    },
    "undici:request:headers": ({ request, response }) => {
      const status = response?.statusCode ?? 0;
      const span = spans.get(request);
      span?.setAttribute(ATTRIBUTES.httpStatus, status);
      if (status < 400) return;
      span?.setAttribute(ATTRIBUTES.errorType, String(status));
      span?.setStatus({ code: SpanStatusCode.ERROR });
    },
    "undici:request:trailers": ({ request }) => spans.get(request)?.end(now()),
    "undici:request:error": ({ request, error }) => {
      const span = spans.get(request);
      span?.setAttribute(ATTRIBUTES.errorType, errorTypeOf(error));
      span?.setStatus({ code: SpanStatusCode.ERROR });
      span?.end(now());
    },
  };
  const entries = Object.entries(listeners).map(
    ([name, listener]) => [name, (message: unknown) => listener(message as Told)] as const,
  );
  for (const [name, listener] of entries) subscribe(name, listener);
  return () => {
    for (const [name, listener] of entries) unsubscribe(name, listener);
  };
}

/** The code or the class of an error: its message may quote anything. */
export function errorTypeOf(error: unknown): string {
  if (!(error instanceof Error)) return "_OTHER";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
