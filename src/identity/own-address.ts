/** The addresses that this server has in a URI.   AGTP "URI Scheme" */
import { isLoopbackHost } from "../base/addresses.ts";
import type { ServerConfig } from "./identity-sections.ts";

/**
 * Tells whether a host is this server, whatever its case, and with its brackets or without. A port that is written
 * must be this server's: another one is another server on the same machine.
 */
export type IsOwnAddress = (host: string, port: number | undefined) => boolean;

/** Knows the names as far as the configuration tells; a server on any free port is not known by its number. */
export function ownAddress({
  serverId,
  domain,
  host,
  port,
}: Pick<ServerConfig, "serverId" | "domain" | "host" | "port">): IsOwnAddress {
  const named = [serverId, host, ...(domain === undefined ? [] : [domain, `agtp.${domain}`])];
  if (isLoopbackHost(host)) named.push("localhost", "127.0.0.1", "::1");
  const names = new Set(named.map((name) => name.toLowerCase()));
  return (asked, askedPort = port) => {
    const isPort = askedPort === port || (port === 0 && askedPort > 0);
    return isPort && names.has(asked.toLowerCase().replace(/^\[|\]$/g, ""));
  };
}
