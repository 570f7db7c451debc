/**
 * Metrics of handler processes, whose names are the operator's, a closed set; and of this process as a node of a
 * shared store: the age of its view, and the cost of sharing.
 */
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import {
  PROCESS_CHANNELS,
  type ProcessCallEnd,
  type ProcessRestart,
} from "../handlers/processes/process-channels.ts";
import type { NodeFigures } from "../state/node-figures.ts";

const BUCKETS = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 30];

/** Starts collecting; returns the function that ends it. */
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

type Name = keyof NodeFigures;

const GAUGES: readonly (readonly [figure: Name, name: string, help: string])[] = [
  ["leaseMs", "lease_seconds", "How long this node may still serve from its view."],
  ["viewAgeMs", "view_age_seconds", "Since when this node has not heard what others have changed."],
  ["heartbeatAgeMs", "heartbeat_age_seconds", "Since when the store has not heard of this node."],
];

const COUNTERS: readonly (readonly [figure: Name, name: string, help: string])[] = [
  ["commits", "commits_total", "Commits to the store that were made."],
  ["conflicts", "conflicts_total", "Commits that were not made: another node was sooner."],
  ["records", "records_total", "Records that were appended to chains."],
  ["recordsAgain", "records_signed_again_total", "Records signed again behind another node's."],
];

/** Starts collecting. */
export function measureNode(registry: Registry, figures: () => NodeFigures): void {
  const registers = [registry];
  for (const [figure, name, help] of GAUGES) {
    new Gauge({
      ...{ name: `agtp_node_${name}`, help, registers },
      collect() {
        this.set(figures()[figure] / 1000);
      },
    });
  }
  for (const [figure, name, help] of COUNTERS) {
    new Counter({
      ...{ name: `agtp_node_${name}`, help, registers },
      collect() {
        this.reset();
        this.inc(figures()[figure]);
      },
    });
  }
}
