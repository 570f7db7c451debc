/** The metric of traces: spans that no collector will see. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Counter, type Registry } from "prom-client";
import { DROPPED_CHANNEL } from "../dispatch/observer.ts";

/** Counts from now on; answers how to end it. */
export function measureDroppedSpans(registry: Registry): () => void {
  const dropped = new Counter({
    name: "agtp_trace_spans_dropped_total",
    help: "Spans that did not reach the collector.",
    registers: [registry],
  });
  const onDrop = (message: unknown): void => {
    dropped.inc((message as { readonly count: number }).count);
  };
  subscribe(DROPPED_CHANNEL, onDrop);
  return () => unsubscribe(DROPPED_CHANNEL, onDrop);
}
