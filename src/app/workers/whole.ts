/**
 * The workers of a daemon, as its operator sees them: one daemon with one set of metrics, and a
 * node for each worker.
 */
import type { Registry } from "prom-client";
import { VERSION } from "../../base/version.ts";
import type { NodeFacts } from "../../dispatch/module/http-gateway.ts";
import { pushesMetrics } from "../../modules/tracing/config.ts";
import { SendBudget } from "../../server/connection-limits.ts";
import type { ProcessMetrics } from "../../server/summed-metrics.ts";
import type { Config } from "../config/config.ts";
import type { Crew } from "./crew.ts";
import type { CommandAnswer, CommandOrder, WorkerStatus } from "./orders.ts";

interface WholeDaemon {
  /** `host:port`. */
  readonly address: string;
  readonly leaseMs: number;
  readonly isEnding: boolean;
}

/** Lists the workers as nodes; one that does not answer, or may not serve, is lost. */
export function nodesOf(crew: Crew, daemon: WholeDaemon): Promise<readonly NodeFacts[]> {
  const { address, leaseMs, isEnding } = daemon;
  return Promise.all(
    crew.members.map(async ({ node, since, watch }): Promise<NodeFacts> => {
      const status = await watch.ask<WorkerStatus>("status").catch(() => undefined);
      const served = status?.isFresh === true ? "ready" : "lost";
      const state = isEnding && status !== undefined ? "draining" : served;
      return { node, address, version: VERSION, since, state, lease_ms: leaseMs };
    }),
  );
}

/** Returns the number of connections to the sidecar; 0 while its worker does not answer. */
export async function httpConnectionsOf({ lead }: Crew): Promise<number> {
  const status = await lead?.watch.ask<WorkerStatus>("status").catch(() => undefined);
  return status?.httpConnections ?? 0;
}

/**
 * Returns the version of the lead's manifest; undefined while the lead does not answer or is being
 * replaced.
 */
export async function documentVersionOf({ lead }: Crew): Promise<string | undefined> {
  const status = await lead?.watch.ask<WorkerStatus>("status").catch(() => undefined);
  return status?.documentVersion ?? undefined;
}

/** Forwards a command of the deployment to the lead. */
export async function commandLead({ lead }: Crew, order: CommandOrder): Promise<unknown> {
  if (lead === undefined) throw new Error("the worker that does this is being replaced");
  const { isKnown, result } = await lead.watch.ask<CommandAnswer>("command", order);
  if (!isKnown) throw new Error(`this daemon has no command ${JSON.stringify(order.name)}`);
  return result;
}

export interface ServedMetrics {
  /** Undefined if metrics are only pushed. */
  readonly port: number | undefined;
  /** Redirects later pushes to the new configuration's collector. */
  follow(config: Config): void;
  close(): Promise<void>;
}

const SWEEP_MS = 1_000;

/** Serves and pushes metrics as configured. Throws if the port cannot be bound. */
export async function serveWhole(
  config: Config,
  crew: Crew,
  nodes: () => Promise<readonly NodeFacts[]>,
): Promise<ServedMetrics | undefined> {
  const { metrics, tracing, limits } = config;
  const isPushed = pushesMetrics(tracing);
  if (!metrics.enabled && !isPushed) return undefined;
  const { SummedMetrics } = await import("../../server/summed-metrics.ts");
  const { createRuntimeRegistry } = await import("../../server/runtime-metrics.ts");
  const own = createRuntimeRegistry();
  const registry = new SummedMetrics(() => collect(crew, own));
  const sendBudget = new SendBudget(limits);
  const { serveMetrics } = await import("../../server/metrics.ts");
  const sweeper = setInterval(() => sendBudget.sweep(performance.now()), SWEEP_MS);
  const { host, port } = metrics;
  const isReady = async (): Promise<boolean> =>
    (await nodes()).some(({ state }) => state === "ready");
  const measured = { registry, close: () => clearInterval(sweeper) };
  const served = metrics.enabled
    ? await serveMetrics({ host, port, sendBudget, isReady }, measured)
    : undefined;
  const { pushMetrics } = await import("../../modules/tracing/push-metrics.ts");
  const pushed = isPushed ? pushMetrics(config, registry, limits.drainTimeoutMs) : undefined;
  return {
    port: served?.port,
    follow: (other) => pushed?.follow(other),
    close: async () => {
      await pushed?.close();
      await served?.close();
      measured.close();
    },
  };
}

/** Collects the metrics of each worker, and of their parent as a process. */
async function collect(
  crew: Crew,
  own: Registry,
): Promise<ReadonlyMap<unknown, ProcessMetrics | undefined>> {
  const asked = crew.members.map(async ({ process, watch }) => {
    const metrics = await watch.ask<ProcessMetrics>("metrics").catch(() => undefined);
    return [process, metrics] as const;
  });
  const parent = [own, (await own.getMetricsAsJSON()) as ProcessMetrics] as const;
  return new Map<unknown, ProcessMetrics | undefined>([parent, ...(await Promise.all(asked))]);
}
