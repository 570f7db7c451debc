/** The names that this server has as the host of a URI.   AGTP "URI Scheme" */
import { isLoopbackHost } from "../base/addresses.ts";
import type { ServerConfig } from "./identity-sections.ts";

/** Tells whether a host is this server, whatever its case, and with its brackets or without. */
export type IsOwnHost = (host: string) => boolean;

/** Knows the names as far as the configuration tells. */
export function ownHosts({
  serverId,
  domain,
  host,
}: Pick<ServerConfig, "serverId" | "domain" | "host">): IsOwnHost {
  const named = [serverId, host, ...(domain === undefined ? [] : [domain, `agtp.${domain}`])];
  if (isLoopbackHost(host)) named.push("localhost", "127.0.0.1", "::1");
  const names = new Set(named.map((name) => name.toLowerCase()));
  return (asked) => names.has(asked.toLowerCase().replace(/^\[|\]$/g, ""));
}
