/**
 * Trace context as it comes in and goes out: `traceparent` and `tracestate`, and no baggage, which is
 * the callers' own.   W3C Trace Context
 */
import { type Context, ROOT_CONTEXT, type Span, trace } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import type { TraceFields } from "../../base/leaving.ts";

const propagator = new W3CTraceContextPropagator();
/** A longer one is cut off by nobody, so it is not taken. */
const MAX_STATE = 512;

/** The context that fields name; the root's where they name none. */
export function readContext(field: (name: string) => string | undefined): Context {
  const traceparent = field("traceparent");
  if (traceparent === undefined) return ROOT_CONTEXT;
  const tracestate = field("tracestate");
  const carrier = {
    traceparent,
    ...(tracestate === undefined || tracestate.length > MAX_STATE ? {} : { tracestate }),
  };
  return propagator.extract(ROOT_CONTEXT, carrier, {
    keys: () => Object.keys(carrier),
    get: (_, name) => (carrier as Record<string, string>)[name],
  });
}

/** The context whose parent is a span. */
export function contextOf(span: Span): Context {
  return trace.setSpan(ROOT_CONTEXT, span);
}

/** The fields that name a span. */
export function fieldsOf(span: Span): TraceFields {
  const fields: { traceparent?: string; tracestate?: string } = {};
  propagator.inject(contextOf(span), fields, {
    set: (carrier, name, value) => {
      (carrier as Record<string, string>)[name] = value;
    },
  });
  return fields;
}
