/**
 * The names that clients call the sidecar by. A page of any site can have its own name resolve to
 * this machine, and is then of the same origin as what listens here; it cannot keep its browser from
 * saying that name. So a sidecar on loopback answers to what no site on the web is called, addresses
 * and names without a dot, to the name of its `base_url`, and to those in `hosts`; elsewhere to every
 * name, unless `hosts` has some.
 * RFC 9110 §7.4, RFC 9112 §3.2
 */
import { isIP } from "node:net";
import { isLoopbackHost } from "../../base/loopback.ts";
import type { GatewaySections } from "./config.ts";
import { readAuthority } from "./http-target.ts";

/** The parts of a request that name its server. */
export interface HostRequest {
  /** As it was written: origin-form, or absolute-form with a name of its own. */
  readonly target: string;
  /** Names and values by turns. */
  readonly rawHeaders: readonly string[];
}

/** Which server is meant: this one, another one, or one cannot tell. */
export type HostVerdict = "ours" | "another" | "unclear";

/** A name or an address, and a port or none. */
const AUTHORITY = /^(\[[0-9a-f:.]+\]|[0-9a-z._~-]+)(?::\d{0,5})?$/i;

/** Judges by the configured names. */
export function createHostPolicy({
  host,
  baseUrl,
  hosts,
}: Pick<GatewaySections["gateway"], "host" | "baseUrl" | "hosts">): (
  request: HostRequest,
) => HostVerdict {
  const isLoopback = isLoopbackHost(host);
  const isGuarded = isLoopback || hosts.length > 0;
  const own = [...hosts, host, ...(baseUrl === undefined ? [] : [new URL(baseUrl).hostname])];
  const names = new Set(own.map(plainName));
  const isOurs = (authority: string): boolean => {
    const name = nameIn(authority);
    if (name === undefined) return false;
    return names.has(name) || (isLoopback && isNobodysSite(name));
  };
  return ({ target, rawHeaders }) => {
    const said = hostFields(rawHeaders);
    if (said.length > 1) return "unclear";
    const { authority } = readAuthority(target);
    const asked = [...said, ...(authority === undefined ? [] : [authority])];
    return !isGuarded || asked.every(isOurs) ? "ours" : "another";
  };
}

/** No name server can give these to anybody's pages. */
function isNobodysSite(name: string): boolean {
  return isIP(name) !== 0 || !name.includes(".") || name.endsWith(".localhost");
}

function hostFields(rawHeaders: readonly string[]): readonly string[] {
  return rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === "host",
  );
}

function nameIn(authority: string): string | undefined {
  const name = AUTHORITY.exec(authority.trim())?.[1];
  return name && plainName(name);
}

/** Without the brackets of an address, and without the dot of the root. */
function plainName(name: string): string {
  return name
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "")
    .toLowerCase();
}
