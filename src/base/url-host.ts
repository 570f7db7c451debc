/** Hosts and ports as they stand in a URI.   RFC 3986 §3.2.2 */

/** A host; an address of IPv6 has brackets. */
export function urlHost(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/** A host and its port; a port that goes without saying, or is not known, is left out. */
export function urlAuthority(host: string, port: number, usual?: number): string {
  return port === usual || port === 0 ? urlHost(host) : `${urlHost(host)}:${port}`;
}
