/**
 * Spans on their way to the collector: so many wait at most, and what does not reach it is counted.
 * The library drops in silence.
 */
import { channel } from "node:diagnostics_channel";
import { type ExportResult, ExportResultCode } from "@opentelemetry/core";
import type { ReadableSpan, SpanExporter, SpanProcessor } from "@opentelemetry/sdk-trace-base";
import { BatchSpanProcessor } from "@opentelemetry/sdk-trace-base";
import { DROPPED_CHANNEL } from "../../dispatch/request-channels.ts";

/** Spans that wait; beyond it the newest are dropped. */
const MAX_WAITING = 2_048;
const BATCH = 256;
const DELAY_MS = 1_000;
const EXPORT_TIMEOUT_MS = 10_000;

const dropped = channel(DROPPED_CHANNEL);

function drop(count: number): void {
  if (dropped.hasSubscribers) dropped.publish({ count });
}

/** A processor that hands spans to an exporter in batches. */
export function createCountedProcessor(exporter: SpanExporter): SpanProcessor {
  let waiting = 0;
  const counting: SpanExporter = {
    export(spans: ReadableSpan[], done: (result: ExportResult) => void): void {
      waiting -= spans.length;
      exporter.export(spans, (result) => {
        if (result.code !== ExportResultCode.SUCCESS) drop(spans.length);
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
  const batches = new BatchSpanProcessor(counting, {
    maxQueueSize: MAX_WAITING,
    maxExportBatchSize: BATCH,
    scheduledDelayMillis: DELAY_MS,
    exportTimeoutMillis: EXPORT_TIMEOUT_MS,
  });
  return {
    onStart: (span, parent) => batches.onStart(span, parent),
    onEnd(span) {
      if (waiting >= MAX_WAITING) {
        drop(1);
        return;
      }
      waiting += 1;
      batches.onEnd(span);
    },
    forceFlush: () => batches.forceFlush(),
    shutdown: async () => {
      await batches.shutdown();
      drop(waiting);
      waiting = 0;
    },
  };
}
