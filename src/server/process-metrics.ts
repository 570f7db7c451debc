/** Metrics of the processes that functions are in. Their names are the operator's: a closed set. */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Counter, Histogram, type Registry } from "prom-client";
import {
  PROCESS_CHANNELS,
  type ProcessCallEnd,
  type ProcessRestart,
} from "../handlers/processes/process-channels.ts";

const BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30];

/** Measures from now on; answers how to end it. */
export function measureProcesses(registry: Registry): () => void {
  const registers = [registry];
  const durations = new Histogram({
    name: "agtp_process_call_duration_seconds",
    help: "Time of calls to processes, the wait for room included.",
    labelNames: ["process", "answered"],
    buckets: BUCKETS,
    registers,
  });
  const restarts = new Counter({
    name: "agtp_process_restarts_total",
    help: "Processes that were started again.",
    labelNames: ["process"],
    registers,
  });
  const onCall = (message: unknown): void => {
    const { process, durationMs, isAnswered } = message as ProcessCallEnd;
    durations.observe({ process, answered: String(isAnswered) }, durationMs / 1000);
  };
  const onRestart = (message: unknown): void => {
    restarts.inc({ process: (message as ProcessRestart).process });
  };
  subscribe(PROCESS_CHANNELS.call, onCall);
  subscribe(PROCESS_CHANNELS.restart, onRestart);
  return () => {
    unsubscribe(PROCESS_CHANNELS.call, onCall);
    unsubscribe(PROCESS_CHANNELS.restart, onRestart);
  };
}
