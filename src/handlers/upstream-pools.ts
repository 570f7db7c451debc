/**
 * Connections to external services: one pool of kept-alive, verified TLS connections for each
 * origin and set of trusted CAs, shared by all endpoints that have both in common. AGTP-API §12.3
 */
import { Pool } from "undici";
import { connectionOptions } from "./connection-options.ts";

const MAX_CONNECTIONS = 64;
const CONNECT_TIMEOUT_MS = 10_000;

/** The key of the pool that an endpoint shares. */
export interface Upstream {
  readonly origin: string;
  /** PEM text to trust instead of the system's CAs. */
  readonly ca: string | undefined;
}

/** Owns the connections of one configuration. */
export interface UpstreamPools {
  pool(upstream: Upstream): Pool;
  /** Lets running requests finish, then closes every connection. */
  close(): Promise<void>;
}

/** Makes pools as endpoints ask for them; connects to nothing by itself. */
export function createUpstreamPools(connections: number = MAX_CONNECTIONS): UpstreamPools {
  const pools = new Map<string, Pool>();
  return {
    pool(upstream) {
      const key = `${upstream.origin}\n${upstream.ca ?? ""}`;
      let pool = pools.get(key);
      if (pool === undefined) {
        const connectTimeoutMs = CONNECT_TIMEOUT_MS;
        const { origin, ca } = upstream;
        pool = new Pool(origin, connectionOptions({ connections, connectTimeoutMs, ca }));
        pools.set(key, pool);
      }
      return pool;
    },
    async close() {
      await Promise.all([...pools.values()].map((pool) => pool.close()));
    },
  };
}
