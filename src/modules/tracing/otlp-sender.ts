/** Sends spans by OpenTelemetry's own exporter: OTLP over HTTP, in protobuf. */
import { type SpanContext, TraceFlags } from "@opentelemetry/api";
import { ExportResultCode, TraceState } from "@opentelemetry/core";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-proto";
import { type Resource, resourceFromAttributes } from "@opentelemetry/resources";
import { VERSION } from "../../base/version.ts";
import type { SenderOptions, SpanSender } from "./sending.ts";
import { ROW, type SpanRow } from "./span-record.ts";

/** The library's span, as its exporter reads it. */
type ReadableSpan = Parameters<OTLPTraceExporter["export"]>[0][number];
type HrTime = ReadableSpan["startTime"];

const OK = { code: 0 } as const;
const FAILED = { code: 2 } as const;
const SCOPE = { name: "agtpd", version: VERSION };
const NONE: never[] = [];

/** A sender on the thread that asks for it. */
export function createOtlpSender({ collector, resource: attributes }: SenderOptions): SpanSender {
  const exporter = new OTLPTraceExporter(collector);
  const resource = resourceFromAttributes(attributes);
  return {
    send: (rows) =>
      new Promise((resolve) => {
        const spans = rows.map((row) => spanOf(row, resource));
        exporter.export(spans, ({ code }) => resolve(code === ExportResultCode.SUCCESS));
      }),
    close: async () => undefined,
  };
}

function spanOf(row: SpanRow, resource: Resource): ReadableSpan {
  const own = contextOf(row, row[ROW.spanId], false);
  const startedAt = Number(row[ROW.startedAt]);
  const endedAt = Number(row[ROW.endedAt]);
  return {
    name: String(row[ROW.name]),
    kind: Number(row[ROW.kind]),
    resource,
    instrumentationScope: SCOPE,
    spanContext: () => own,
    parentSpanContext: parentOf(row),
    startTime: hrTime(startedAt),
    endTime: hrTime(endedAt),
    duration: hrTime(endedAt - startedAt),
    status: row[ROW.hasFailed] === 1 ? FAILED : OK,
    attributes: attributesOf(row),
    links: NONE,
    events: NONE,
    ended: true,
    droppedAttributesCount: 0,
    droppedEventsCount: 0,
    droppedLinksCount: 0,
  } as ReadableSpan;
}

function parentOf(row: SpanRow): SpanContext | undefined {
  const spanId = row[ROW.parentId];
  return spanId === "" ? undefined : contextOf(row, spanId, row[ROW.isParentRemote] === 1);
}

function contextOf(
  row: SpanRow,
  spanId: string | number | undefined,
  isRemote: boolean,
): SpanContext {
  const context = {
    traceId: String(row[ROW.traceId]),
    spanId: String(spanId),
    traceFlags: TraceFlags.SAMPLED,
    isRemote,
  };
  const state = row[ROW.state];
  return state === "" ? context : { ...context, traceState: new TraceState(String(state)) };
}

function attributesOf(row: SpanRow): Record<string, string | number> {
  const attributes: Record<string, string | number> = {};
  for (let at = ROW.attributes; at < row.length; at += 2) {
    attributes[String(row[at])] = row[at + 1] ?? "";
  }
  return attributes;
}

/** Seconds and nanoseconds. */
function hrTime(ms: number): HrTime {
  return [Math.trunc(ms / 1000), Math.trunc((ms % 1000) * 1_000_000)];
}
