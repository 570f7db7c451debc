/** Client spans of calls over AGTP, MCP and the pipes of processes, and of model calls. */
import type { AsyncLocalStorage } from "node:async_hooks";
import {
  LEAVING_CHANNELS,
  type Leaving,
  type LeavingEnd,
  type LeavingMessage,
  listenTo,
} from "../../base/leaving.ts";
import { ATTRIBUTES, type Place, SPAN_KINDS, type SpanRecord } from "./span-record.ts";
import type { Spans } from "./spans.ts";
import { fieldsOf } from "./traced-route.ts";

/** Starts creating spans; returns the function that stops it. */
export function listenToLeaving(spans: Spans, places: AsyncLocalStorage<Place>): () => void {
  const known = new WeakMap<object, SpanRecord>();
  return listenTo({
    [LEAVING_CHANNELS.begin]: (message: LeavingMessage) => {
      const place = places.getStore();
      if (place?.span === undefined) return;
      const { leaving } = message;
      const span = spans.within(place.span, nameOf(leaving), SPAN_KINDS.client);
      message.fields = fieldsOf(span ?? place.span);
      if (span === undefined) return;
      known.set(message, span);
      describe(span, leaving);
      message.around = (call) => places.run({ ...place, span }, call);
    },
    [LEAVING_CHANNELS.end]: ({ message, error, usage }: LeavingEnd) => {
      const span = known.get(message);
      if (span === undefined) return;
      if (error !== undefined) markFailed(span, errorTypeOf(error));
      if (usage?.inputTokens !== undefined) span.set(ATTRIBUTES.inputTokens, usage.inputTokens);
      if (usage?.outputTokens !== undefined) span.set(ATTRIBUTES.outputTokens, usage.outputTokens);
      spans.end(span);
    },
  });
}

function nameOf({ kind, operation, to }: Leaving): string {
  switch (kind) {
    case "peer":
      return operation;
    case "mcp":
      return `tools/call ${operation}`;
    case "process":
      return `${to}:${operation}`;
    case "model":
      return `chat ${operation}`;
  }
}

function describe(span: SpanRecord, { kind, operation, to }: Leaving): void {
  span.set(ATTRIBUTES.peer, to);
  switch (kind) {
    case "peer":
      span.set(ATTRIBUTES.method, operation);
      return;
    case "mcp":
      span.set(ATTRIBUTES.mcpMethod, "tools/call");
      span.set(ATTRIBUTES.toolName, operation);
      span.set(ATTRIBUTES.operation, "execute_tool");
      return;
    case "model":
      span.set(ATTRIBUTES.operation, "chat");
      span.set(ATTRIBUTES.provider, to);
      span.set(ATTRIBUTES.model, operation);
      return;
    case "process":
      return;
  }
}

/** The used part of undici's request. */
interface LeavingRequest {
  readonly origin: string | URL;
  readonly method: string;
  addHeader(name: string, value: string): unknown;
}

interface Told {
  readonly request: LeavingRequest;
  readonly response?: { readonly statusCode: number };
  readonly error?: unknown;
}

/**
 * Client spans of outgoing HTTP requests: to upstreams, webhooks, MCP servers, AGNTCY agents and models. undici
 * reports each request, and accepts the trace context's header fields.
 */
export function listenToUndici(spans: Spans, places: AsyncLocalStorage<Place>): () => void {
  const known = new WeakMap<LeavingRequest, SpanRecord>();
  return listenTo({
    "undici:request:create": ({ request }: Told) => {
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
    "undici:request:headers": ({ request, response }: Told) => {
      const span = known.get(request);
      if (span === undefined) return;
      const status = response?.statusCode ?? 0;
      span.set(ATTRIBUTES.httpStatus, status);
      if (status >= 400) markFailed(span, String(status));
    },
    "undici:request:trailers": ({ request }: Told) => {
      const span = known.get(request);
      if (span !== undefined) spans.end(span);
    },
    "undici:request:error": ({ request, error }: Told) => {
      const span = known.get(request);
      if (span === undefined) return;
      markFailed(span, errorTypeOf(error));
      spans.end(span);
    },
  });
}

/** Marks a span as failed; `type` is the `error.type`. */
export function markFailed(span: SpanRecord, type: string): void {
  span.set(ATTRIBUTES.errorType, type);
  span.hasFailed = true;
}

/** The code or class of an error; its message is left out, since it may quote anything. */
function errorTypeOf(error: unknown): string {
  if (!(error instanceof Error)) return "_OTHER";
  return "code" in error && typeof error.code === "string" ? error.code : error.name;
}
