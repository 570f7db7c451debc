/**
 * Pages of browsers: which may call the sidecar, and what the others must not do. No page may read an
 * answer unless its origin is configured. A page may still send what it cannot read the answer of, so
 * from any other origin nothing is done that could change something: the sidecar may listen on the
 * machine of whoever looks at that page.   Fetch "CORS protocol"
 */
import { isReading } from "../../openapi/lift-verb.ts";

/** The fields for the browser, beside the answer or instead of it. */
export type OriginVerdict =
  | { readonly kind: "same"; readonly fields: FieldPairs }
  | { readonly kind: "preflight"; readonly fields: FieldPairs }
  | { readonly kind: "refused" };

type FieldPairs = readonly (readonly [name: string, value: string])[];

/** The parts of a request that tell its origin. */
export interface OriginRequest {
  readonly method: string;
  readonly origin: string | undefined;
  /** `Access-Control-Request-Method` */
  readonly asksFor: string | undefined;
}

const METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE";
const SENT = [
  ...["Accept", "Authority-Scope", "Authorization", "Content-Type", "Contract-Synthesized"],
  ...["Escalation-ID", "Idempotency-Key", "If-None-Match", "Last-Event-ID", "Mcp-Method"],
  ...["Mcp-Name", "MCP-Protocol-Version", "Mcp-Session-Id", "Request-ID", "Session-ID", "Task-ID"],
].join(", ");
const EXPOSED = [
  ...["AGTP-Catalog-Warning", "AGTP-Endpoint-Warning", "Attribution-Record", "Audit-ID", "ETag"],
  ...[
    "Location",
    "Mcp-Session-Id",
    "Request-ID",
    "Response-ID",
    "Retry-After",
    "Server-ID",
    "Task-ID",
  ],
  ...["WWW-Authenticate", "X-AGTP-Status"],
].join(", ");
/** The time that a browser may remember; it never remembers longer than two hours. */
const MAX_AGE_SECONDS = 600;

/** Judges by the configured origins. */
export function createOriginPolicy(
  origins: readonly string[],
): (request: OriginRequest) => OriginVerdict {
  const allowed = new Set(origins);
  const varies: FieldPairs = allowed.size === 0 ? [] : [["vary", "Origin"]];
  return ({ method, origin, asksFor }) => {
    if (origin === undefined) return { kind: "same", fields: varies };
    if (!allowed.has(origin)) {
      return isReading(method) ? { kind: "same", fields: varies } : { kind: "refused" };
    }
    const fields: FieldPairs = [...varies, ["access-control-allow-origin", origin]];
    if (method !== "OPTIONS" || asksFor === undefined) {
      return { kind: "same", fields: [...fields, ["access-control-expose-headers", EXPOSED]] };
    }
    return {
      kind: "preflight",
      fields: [
        ...fields,
        ["access-control-allow-methods", METHODS],
        ["access-control-allow-headers", SENT],
        ["access-control-max-age", String(MAX_AGE_SECONDS)],
      ],
    };
  };
}
