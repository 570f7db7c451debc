/**
 * The target of an HTTP request line as raw path and query: nothing is decoded or normalised, because the path grammar
 * judges what the client wrote. The faults are those of the AGTP parser.   RFC 9112 §3.2, AGTP "Wire Format"
 */
import { readAuthority } from "../../base/addresses.ts";
import { HTTP_METHODS } from "../../dispatch/module/http-gateway.ts";
import { splitTarget, type WireFault } from "../../wire/message.ts";

/** A parsed target. */
export interface HttpTarget {
  readonly path: string;
  /** Without the "?"; undefined if there is none. */
  readonly query: string | undefined;
}

const VISIBLE = /^[\x21-\x22\x24-\x7e]*$/;

/** Parses a target. */
export function readTarget(target: string, maxOctets: number): HttpTarget | WireFault {
  if (target.length > maxOctets) {
    const message = `the request target exceeds ${maxOctets} octets`;
    return { kind: "wire-fault", code: "request-line-too-long", message };
  }
  if (!VISIBLE.test(target)) {
    const message = "the request target must be visible ASCII characters without a fragment";
    return { kind: "wire-fault", code: "invalid-request-line", message };
  }
  const { relative } = readAuthority(target);
  const { path, query } = splitTarget(relative);
  return { path: path || "/", query };
}

/**
 * The HTTP methods that the sidecar accepts. GET, POST, PUT, PATCH and DELETE are aliases of AGTP methods; a method of
 * both HTTP and the catalog is that method.   AGTP-API §9.2
 */
export const METHODS: readonly string[] = [...HTTP_METHODS, "QUERY"];

/** Methods that Node parses and Fastify does not know by default; some are AGTP methods, too. */
export const FURTHER_METHODS: readonly string[] = [
  ...["ACL", "BIND", "CHECKOUT", "COPY", "LINK", "LOCK", "M-SEARCH", "MERGE", "MKACTIVITY"],
  ...["MKCALENDAR", "MKCOL", "MOVE", "NOTIFY", "PROPFIND", "PROPPATCH", "PURGE", "REBIND"],
  ...["REPORT", "SEARCH", "SOURCE", "SUBSCRIBE", "UNBIND", "UNLINK", "UNLOCK", "UNSUBSCRIBE"],
];

/** The path of the OpenAPI document of the endpoints; no API may claim it. */
export const OPENAPI_PATH = "/openapi.json";

/** Tells whether a path is a prefix or below it. */
export function isUnder(prefix: string, path: string): boolean {
  return path === prefix || path.startsWith(`${prefix}/`);
}
