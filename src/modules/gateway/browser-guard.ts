/**
 * Keeps pages of browsers from what they must not do. No page may read an answer unless its origin
 * is configured. A page may still send what it cannot read the answer of, so from any other origin
 * nothing is done that could change something: the sidecar may listen on the machine of whoever
 * looks at that page.   Fetch "CORS protocol", Fetch Metadata "Sec-Fetch-Site"
 */
import { isIP } from "node:net";
import { isLoopbackHost, readAuthority } from "../../base/addresses.ts";
import { isReading } from "../../openapi/http-form.ts";
import type { GatewaySections } from "./config.ts";
import { FURTHER_METHODS, METHODS } from "./http-target.ts";

/** The fields for the browser, beside the answer or instead of it. */
type OriginVerdict =
  | { readonly kind: "same"; readonly fields: FieldPairs }
  /** A page elsewhere that promises to change nothing, which is for the endpoint to keep. */
  | { readonly kind: "reading"; readonly fields: FieldPairs }
  | { readonly kind: "preflight"; readonly fields: FieldPairs }
  | { readonly kind: "refused" };

type FieldPairs = readonly (readonly [name: string, value: string])[];

interface OriginRequest {
  readonly method: string;
  readonly origin: string | undefined;
  /** `Sec-Fetch-Site`: a browser says of a GET without Origin where it was asked to send it. */
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
/** The time that a browser may remember; it never remembers longer than two hours. */
const MAX_AGE_SECONDS = 600;

/** Links and pictures of other pages, which come without an Origin; an address that was typed is `none`. */
const ELSEWHERE: ReadonlySet<string | undefined> = new Set(["cross-site", "same-site"]);

/** Judges by the configured origins. */
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

/** The usual methods, and the one that is asked for where the sidecar takes it. */
function methodsFor(asked: string): string {
  return FURTHER_METHODS.includes(asked) ? `${USUAL}, ${asked}` : USUAL;
}

interface HostRequest {
  /** As it was written: origin-form, or absolute-form with a name of its own. */
  readonly target: string;
  /** The one Host field; HTTP/1.0 needs none. */
  readonly said: string | undefined;
}

/** A name or an address, and a port or none. */
const AUTHORITY = /^(\[[0-9a-f:.]+\]|[0-9a-z._~-]+)(?::\d{0,5})?$/i;

/**
 * Tells whether it is this sidecar that a client calls by its names. A page of any site can have its own name
 * resolve to this machine, and is then of the same origin; it cannot keep its browser from saying
 * that name. A sidecar on loopback answers to what no site on the web is called, addresses and
 * names without a dot, to the name of its `base_url`, and to those in `hosts`; elsewhere to every
 * name, unless `hosts` has some.   RFC 9110 §7.4, RFC 9112 §3.2
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

/** No name server can give these to anybody's pages. */
function isNobodysSite(name: string): boolean {
  return isIP(name) !== 0 || !name.includes(".") || name.endsWith(".localhost");
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
