/**
 * Guards the sidecar against pages in browsers. A page may read an answer only if its origin is configured. A page can
 * also send requests whose answers it cannot read, so requests from other origins that could change something are
 * refused: the sidecar may listen on the machine of the page's viewer.   Fetch "CORS protocol", Fetch Metadata
 * "Sec-Fetch-Site"
 */
import { isIP } from "node:net";
import { isLoopbackHost, readAuthority } from "../../base/addresses.ts";
import { isReading } from "../../openapi/http-form.ts";
import type { GatewaySections } from "./config.ts";
import { FURTHER_METHODS, METHODS } from "./http-target.ts";

/** The verdict on a request's origin, with header fields for the browser. */
type OriginVerdict =
  | { readonly kind: "same"; readonly fields: FieldPairs }
  /** A reading method from another origin, allowed only if the endpoint changes nothing. */
  | { readonly kind: "reading"; readonly fields: FieldPairs }
  | { readonly kind: "preflight"; readonly fields: FieldPairs }
  | { readonly kind: "refused" };

type FieldPairs = readonly (readonly [name: string, value: string])[];

interface OriginRequest {
  readonly method: string;
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site`, by which a browser places the origin of a GET without Origin. */
  readonly site: string | undefined;
  /** `Access-Control-Request-Method` */
  readonly asksFor: string | undefined;
}

const USUAL = METHODS.filter((method) => method !== "OPTIONS").join(", ");
const SENT = [
  ...["Accept", "Authority-Scope", "Authorization", "Content-Type", "Contract-Synthesized"],
  ...["Escalation-ID", "Idempotency-Key", "If-None-Match", "Last-Event-ID", "Mcp-Method"],
  ...["Mcp-Name", "MCP-Protocol-Version", "Mcp-Session-Id", "Request-ID", "Session-ID", "Task-ID"],
  ...["Traceparent", "Tracestate"],
].join(", ");
const EXPOSED = [
  ...["AGTP-Catalog-Warning", "AGTP-Endpoint-Warning", "Attribution-Record", "Audit-ID"],
  ...["Continuation-Token", "Contract-Synthesized", "ETag", "Idempotency-Replayed", "Location"],
  ...["Mcp-Session-Id", "Negotiation-ID", "Request-ID", "Response-ID", "Retry-After", "Server-ID"],
  ...["Task-ID", "WWW-Authenticate", "X-AGTP-Status"],
].join(", ");
/** How long a browser may cache a preflight; browsers have caps of their own. */
const MAX_AGE_SECONDS = 600;

/** Sites of links and images on other pages, which have no Origin; a typed address has `none`. */
const ELSEWHERE: ReadonlySet<string | undefined> = new Set(["cross-site", "same-site"]);

/** Judges requests by the configured origins. */
export function createOriginPolicy(
  origins: readonly string[],
): (request: OriginRequest) => OriginVerdict {
  const allowed = new Set(origins);
  const varies: FieldPairs = allowed.size === 0 ? [] : [["vary", "Origin"]];
  return ({ method, origin, site, asksFor }) => {
    if (origin === undefined ? ELSEWHERE.has(site) : !allowed.has(origin)) {
      return isReading(method) ? { kind: "reading", fields: varies } : { kind: "refused" };
    }
    if (origin === undefined) return { kind: "same", fields: varies };
    const fields: FieldPairs = [...varies, ["access-control-allow-origin", origin]];
    if (method !== "OPTIONS" || asksFor === undefined) {
      return { kind: "same", fields: [...fields, ["access-control-expose-headers", EXPOSED]] };
    }
    return {
      kind: "preflight",
      fields: [
        ...fields,
        ["access-control-allow-methods", methodsFor(asksFor)],
        ["access-control-allow-headers", SENT],
        ["access-control-max-age", String(MAX_AGE_SECONDS)],
      ],
    };
  };
}

/** The usual methods, and the requested one if the sidecar accepts it. */
function methodsFor(asked: string): string {
  return FURTHER_METHODS.includes(asked) ? `${USUAL}, ${asked}` : USUAL;
}

interface HostRequest {
  /** As received: in origin-form, or in absolute-form with its own authority. */
  readonly target: string;
  /** The Host field; HTTP/1.0 needs none. */
  readonly said: string | undefined;
}

/** A name or an address, with or without a port. */
const AUTHORITY = /^(\[[0-9a-f:.]+\]|[0-9a-z._~-]+)(?::\d{0,5})?$/i;

/**
 * Tells whether a request addresses this sidecar by one of its names. A page of any site can have its own name resolve
 * to this machine (DNS rebinding) and is then same-origin, but its browser still sends that name. On loopback the
 * sidecar accepts addresses and names that no web site has, its `host`, the name of its `base_url` and those in
 * `hosts`; elsewhere it accepts every name, unless `hosts` is set.   RFC 9110 §7.4, RFC 9112 §3.2
 */
export function createHostPolicy({
  host,
  baseUrl,
  hosts,
}: Pick<GatewaySections["gateway"], "host" | "baseUrl" | "hosts">): (
  request: HostRequest,
) => boolean {
  const isLoopback = isLoopbackHost(host);
  const isGuarded = isLoopback || hosts.length > 0;
  const own = [...hosts, host, ...(baseUrl === undefined ? [] : [new URL(baseUrl).hostname])];
  const names = new Set(own.map(plainName));
  const isOurs = (authority: string): boolean => {
    const name = nameIn(authority);
    if (name === undefined) return false;
    return names.has(name) || (isLoopback && isNobodysSite(name));
  };
  return ({ target, said }) => {
    if (!isGuarded) return true;
    const { authority } = readAuthority(target);
    return [said, authority].every((one) => one === undefined || isOurs(one));
  };
}

/** Tells whether DNS cannot give this name to a web site. */
function isNobodysSite(name: string): boolean {
  return isIP(name) !== 0 || !name.includes(".") || name.endsWith(".localhost");
}

function nameIn(authority: string): string | undefined {
  const name = AUTHORITY.exec(authority.trim())?.[1];
  return name && plainName(name);
}

/** Removes the brackets of an address and the root's dot, and lowers the case. */
function plainName(name: string): string {
  return name
    .replace(/^\[(.*)\]$/, "$1")
    .replace(/\.$/, "")
    .toLowerCase();
}
