/** Spans of what leaves over AGTP, MCP and the pipes of processes. */
import type { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import {
  type Attributes,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
} from "@opentelemetry/api";
import { LEAVING_CHANNELS, type Leaving, type LeavingMessage } from "../../base/leaving.ts";
import { ATTRIBUTES } from "./attributes.ts";
import { now } from "./clock.ts";
import type { Place } from "./place.ts";
import { contextOf, fieldsOf } from "./trace-context.ts";
import { errorTypeOf } from "./undici-spans.ts";

/** Makes spans from now on; answers how to end it. */
export function listenToLeaving(tracer: Tracer, places: AsyncLocalStorage<Place>): () => void {
  const spans = new WeakMap<object, Span>();
  const onBegin = (told: unknown): void => {
    const message = told as LeavingMessage;
    const place = places.getStore();
    if (place?.span === undefined) return;
    const { leaving } = message;
    const options = { kind: SpanKind.CLIENT, startTime: now(), attributes: attributesOf(leaving) };
    const span = tracer.startSpan(nameOf(leaving), options, contextOf(place.span));
    spans.set(message, span);
    message.fields = fieldsOf(span);
    message.around = (call) => places.run({ ...place, span }, call);
  };
  const onEnd = (told: unknown): void => {
    const { message, error } = told as { readonly message: object; readonly error?: unknown };
    const span = spans.get(message);
    if (error !== undefined) {
      span?.setAttribute(ATTRIBUTES.errorType, errorTypeOf(error));
      span?.setStatus({ code: SpanStatusCode.ERROR });
    }
    span?.end(now());
  };
  subscribe(LEAVING_CHANNELS.begin, onBegin);
  subscribe(LEAVING_CHANNELS.end, onEnd);
  return () => {
    unsubscribe(LEAVING_CHANNELS.begin, onBegin);
    unsubscribe(LEAVING_CHANNELS.end, onEnd);
  };
}

function nameOf({ kind, operation, to }: Leaving): string {
  switch (kind) {
    case "peer":
      return operation;
    case "mcp":
      return `tools/call ${operation}`;
    case "process":
      return `${to}:${operation}`;
  }
}

function attributesOf({ kind, operation, to }: Leaving): Attributes {
  const peer = { [ATTRIBUTES.peer]: to };
  switch (kind) {
    case "peer":
      return { ...peer, [ATTRIBUTES.method]: operation };
    case "mcp":
      return {
        ...peer,
        [ATTRIBUTES.mcpMethod]: "tools/call",
        [ATTRIBUTES.toolName]: operation,
        [ATTRIBUTES.operation]: "execute_tool",
      };
    case "process":
      return peer;
  }
}
