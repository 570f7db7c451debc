/**
 * Trace context as it comes in and goes out: `traceparent` and `tracestate`, and no baggage, which is
 * the callers' own.   W3C Trace Context
 */
import { parseTraceParent, TraceState } from "@opentelemetry/core";
import type { TraceFields } from "../../base/leaving.ts";
import type { SpanLink } from "./span-record.ts";

/** A longer one is cut off by nobody, so it is not taken. */
const MAX_STATE = 512;
const SAMPLED = 1;

/** The span that fields name; undefined where they name none. */
export function readParent(field: (name: string) => string | undefined): SpanLink | undefined {
  const traceparent = field("traceparent");
  if (traceparent === undefined) return undefined;
  const named = parseTraceParent(traceparent);
  if (named === null) return undefined;
  const { traceId, spanId, traceFlags } = named;
  const isSampled = (traceFlags & SAMPLED) !== 0;
  return { traceId, spanId, isSampled, state: readState(field("tracestate")) };
}

function readState(field: string | undefined): string | undefined {
  if (field === undefined || field.length > MAX_STATE) return undefined;
  return new TraceState(field).serialize() || undefined;
}

/** The fields that name a span. */
export function fieldsOf({ traceId, spanId, isSampled, state }: SpanLink): TraceFields {
  const traceparent = `00-${traceId}-${spanId}-0${isSampled ? SAMPLED : 0}`;
  return state === undefined ? { traceparent } : { traceparent, tracestate: state };
}
