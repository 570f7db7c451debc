/** The metrics of all workers as those of one daemon, served and pushed by their parent. */
import { SendBudget } from "../../server/connection-limits.ts";
import type { ProcessMetrics } from "../../server/summed-metrics.ts";
import type { Config } from "../config/config.ts";
import type { Crew } from "./crew.ts";

/** Metrics while they are served. */
export interface ServedMetrics {
  /** Undefined where they are only pushed. */
  readonly port: number | undefined;
  close(): Promise<void>;
}

const SWEEP_MS = 1_000;

/** Serves and pushes them as the configuration says. Throws when the port cannot be bound. */
export async function serveWhole(config: Config, crew: Crew): Promise<ServedMetrics | undefined> {
  const { metrics, tracing, server, limits } = config;
  const isPushed = tracing.enabled && tracing.metrics;
  if (!metrics.enabled && !isPushed) return undefined;
  const { SummedMetrics } = await import("../../server/summed-metrics.ts");
  const registry = new SummedMetrics(() => collect(crew));
  const sendBudget = new SendBudget(limits);
  const { serveMetrics } = await import("../../server/metrics.ts");
  const sweeper = setInterval(() => sendBudget.sweep(performance.now()), SWEEP_MS);
  const { host, port } = metrics;
  const measured = { registry, close: () => clearInterval(sweeper) };
  const served = metrics.enabled
    ? await serveMetrics({ host, port, sendBudget }, measured)
    : undefined;
  const { pushMetrics } = await import("../../modules/tracing/push-metrics.ts");
  const pushed = isPushed
    ? pushMetrics({ tracing, server }, registry, limits.drainTimeoutMs)
    : undefined;
  return {
    port: served?.port,
    close: async () => {
      await pushed?.close();
      await served?.close();
      measured.close();
    },
  };
}

async function collect(crew: Crew): Promise<ReadonlyMap<unknown, ProcessMetrics | undefined>> {
  const asked = crew.members.map(async ({ process, watch }) => {
    const metrics = await watch.ask<ProcessMetrics>("metrics").catch(() => undefined);
    return [process, metrics] as const;
  });
  return new Map(await Promise.all(asked));
}
