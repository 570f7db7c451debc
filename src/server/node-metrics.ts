/** Metrics of this process as a node: how fresh its view is, and what it costs to share a store. */
import { Counter, Gauge, type Registry } from "prom-client";
import type { NodeFigures } from "../state/node-figures.ts";

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

/** Measures from now on. */
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
