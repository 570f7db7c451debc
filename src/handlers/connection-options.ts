/**
 * The options of connections to somebody else's HTTP server, the same for all: kept alive,
 * HTTP/1.1 without pipelining, and verified.   AGTP-API §12.3
 */
import type { LookupFunction } from "node:net";
import type { Pool } from "undici";
import { createUpstreamLookup } from "./upstream-lookup.ts";

/** The options in which connections differ. */
export interface ConnectionNeeds {
  /** The most at once to one origin. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  /** PEM text to trust instead of the system's CAs. */
  readonly ca?: string | undefined;
  /** Resolves names to addresses; by the system, within bounds, unless given. */
  readonly lookup?: LookupFunction;
}

/** The options, for a pool or an agent. */
export function connectionOptions({
  connections,
  connectTimeoutMs,
  ca,
  lookup = createUpstreamLookup(),
}: ConnectionNeeds): Pick<Pool.Options, "connections" | "pipelining" | "allowH2" | "connect"> {
  return {
    connections,
    pipelining: 1,
    allowH2: false,
    connect: {
      timeout: connectTimeoutMs,
      // Said aloud, so that no environment variable can switch verification off.
      rejectUnauthorized: true,
      lookup,
      ...(ca === undefined ? {} : { ca }),
    },
  };
}
