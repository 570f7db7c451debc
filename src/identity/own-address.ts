/** Recognises this server's own addresses in a URI.   AGTP "URI Scheme" */
import { isLoopbackHost } from "../base/addresses.ts";
import type { ServerConfig } from "./identity-sections.ts";

/**
 * Returns true if a host is this server, regardless of case and brackets. An explicit port must be
 * this server's: another port is another server on the same machine.
 */
export type IsOwnAddress = (host: string, port: number | undefined) => boolean;

/** Compiles the configured names; with a configured port of 0, any port matches. */
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
