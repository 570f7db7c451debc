/**
 * The keys that a reload cannot put in force: ports are bound and the store is opened once. Such a
 * change is no reason to refuse the rest of a configuration, but whoever made it should know.
 */
import { relative } from "node:path";
import type { Problem } from "../base/problem.ts";
import type { Config } from "./config/config.ts";

/** The bindings of a configuration by key. */
function bindings({
  server,
  gateway,
  metrics,
  console,
  store,
  tracing,
  cluster,
  attribution,
}: Config): Readonly<Record<string, unknown>> {
  return {
    "server.host": server.host,
    "server.port": server.port,
    "server.workers": server.workers,
    "gateway.enabled": gateway.enabled,
    "gateway.host": gateway.host,
    "gateway.port": gateway.port,
    // Of plain HTTP no reload makes TLS, nor the other way round.
    "gateway.cert": gateway.cert !== undefined,
    "metrics.enabled": metrics.enabled,
    "metrics.host": metrics.host,
    "metrics.port": metrics.port,
    "console.enabled": console.enabled,
    "console.host": console.host,
    "console.port": console.port,
    "console.cert": console.cert !== undefined,
    "tracing.metrics": tracing.enabled && tracing.metrics,
    "store.driver": store.driver,
    "store.path": store.path,
    "store.url": store.url,
    "store.schema": store.schema,
    "store.ca": store.ca,
    "cluster.node": cluster.node,
    "cluster.view_lease_ms": cluster.viewLeaseMs,
    "attribution.durability": attribution.durability,
  };
}

/** A warning for each key that changed and needs a restart. */
export function keysNeedingRestart(before: Config, after: Config): readonly Problem[] {
  const file = relative(after.directory, after.file);
  const previous = bindings(before);
  return Object.entries(bindings(after))
    .filter(([key, value]) => value !== previous[key])
    .map(([key]) => {
      const message = "changed, which takes effect at the next start";
      return { file, key, message, severity: "warning" };
    });
}
