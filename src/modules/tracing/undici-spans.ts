/**
 * Spans of requests that leave over HTTP: to upstreams, webhooks, MCP servers, AGNTCY agents and
 * models. undici tells of each, and takes the fields by which the other side can follow.
 */
import type { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { ATTRIBUTES } from "./attributes.ts";
import type { Place } from "./place.ts";
import { SPAN_KINDS, type SpanRecord } from "./span-record.ts";
import type { Spans } from "./spans.ts";
import { fieldsOf } from "./trace-context.ts";

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
export function listenToUndici(spans: Spans, places: AsyncLocalStorage<Place>): () => void {
  const known = new WeakMap<Leaving, SpanRecord>();
  const listeners: Readonly<Record<string, (told: Told) => void>> = {
    "undici:request:create": ({ request }) => {
      const around = places.getStore()?.span;
      if (around === undefined) return;
      const span = spans.within(around, request.method, SPAN_KINDS.client);
      if (span !== undefined) {
        known.set(request, span);
        const { hostname, port, protocol } = new URL(request.origin);
        span.set(ATTRIBUTES.httpMethod, request.method);
        span.set(ATTRIBUTES.serverAddress, hostname);
        span.set(ATTRIBUTES.serverPort, Number(port) || (protocol === "https:" ? 443 : 80));
      }
      for (const [name, value] of Object.entries(fieldsOf(span ?? around))) {
        request.addHeader(name, value);
      }
    },
    "undici:request:headers": ({ request, response }) => {
      const span = known.get(request);
      if (span === undefined) return;
      const status = response?.statusCode ?? 0;
      span.set(ATTRIBUTES.httpStatus, status);
      if (status >= 400) markFailed(span, String(status));
    },
    "undici:request:trailers": ({ request }) => {
      const span = known.get(request);
      if (span !== undefined) spans.end(span);
    },
    "undici:request:error": ({ request, error }) => {
      const span = known.get(request);
      if (span === undefined) return;
      markFailed(span, errorTypeOf(error));
      spans.end(span);
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

/** Marks a span as failed; `type` is the `error.type`. */
export function markFailed(span: SpanRecord, type: string): void {
  span.set(ATTRIBUTES.errorType, type);
  span.hasFailed = true;
}

/** The code or the class of an error: its message may quote anything. */
export function errorTypeOf(error: unknown): string {
  if (!(error instanceof Error)) return "_OTHER";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
