/** Makes spans of calls over AGTP, MCP and the pipes of processes, and of questions to models. */
import type { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import {
  LEAVING_CHANNELS,
  type Leaving,
  type LeavingEnd,
  type LeavingMessage,
} from "../../base/leaving.ts";
import { ATTRIBUTES } from "./attributes.ts";
import type { Place } from "./place.ts";
import { SPAN_KINDS, type SpanRecord } from "./span-record.ts";
import type { Spans } from "./spans.ts";
import { fieldsOf } from "./trace-context.ts";
import { errorTypeOf, markFailed } from "./undici-spans.ts";

/** Makes spans from now on; answers how to end it. */
export function listenToLeaving(spans: Spans, places: AsyncLocalStorage<Place>): () => void {
  const known = new WeakMap<object, SpanRecord>();
  const onBegin = (told: unknown): void => {
    const message = told as LeavingMessage;
    const place = places.getStore();
    if (place?.span === undefined) return;
    const { leaving } = message;
    const span = spans.within(place.span, nameOf(leaving), SPAN_KINDS.client);
    message.fields = fieldsOf(span ?? place.span);
    if (span === undefined) return;
    known.set(message, span);
    describe(span, leaving);
    message.around = (call) => places.run({ ...place, span }, call);
  };
  const onEnd = (told: unknown): void => {
    const { message, error, usage } = told as LeavingEnd;
    const span = known.get(message);
    if (span === undefined) return;
    if (error !== undefined) markFailed(span, errorTypeOf(error));
    if (usage?.inputTokens !== undefined) span.set(ATTRIBUTES.inputTokens, usage.inputTokens);
    if (usage?.outputTokens !== undefined) span.set(ATTRIBUTES.outputTokens, usage.outputTokens);
    spans.end(span);
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
