/**
 * The floor: the eighteen methods every AGTP server answers on the path "/".
 * AGTP "Method Floor", AGTP-API §3.1
 */

import type { JsonRecord } from "../../base/json-value.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import { CAPABILITIES, type Capability, type Impact } from "../../endpoint/endpoint.ts";
import type { ProtocolEndpoint } from "./protocol-endpoint.ts";

/** Methods that change no state, and are open to anonymous callers by policy. */
const READING: ReadonlySet<string> = new Set([
  "QUERY",
  "DISCOVER",
  "DESCRIBE",
  "INSPECT",
  "SUMMARIZE",
  "PLAN",
]);

const IRREVERSIBLE: ReadonlySet<string> = new Set(["REVOKE", "NOTIFY", "EXECUTE", "DELEGATE"]);

/** A floor method that this server has. */
export interface FloorMethod
  extends Pick<
    ProtocolEndpoint,
    | ("inputSchema" | "handler" | "takesCertificate" | "idempotencyMember")
    | ("deepMembers" | "endsInTime" | "leadsTo" | "looksUp")
  > {
  /** Tells whether a call is this method's, where its path answers something else as well. */
  isAsked?(input: JsonRecord): boolean;
}

/** The catalog's sentence about a method, and its first capability. */
export type DescribeMethod = (method: string) => {
  readonly description: string;
  readonly capability: Capability;
};

/** Describes methods as a catalog does. */
export function describeBy(catalog: Catalog): DescribeMethod {
  return (method) => {
    const verb = catalog.verbs.get(method);
    // A catalog may have categories that are no capability.
    const capability = CAPABILITIES.find((word) => word === verb?.categories[0]) ?? "mechanics";
    return { description: verb?.description ?? method, capability };
  };
}

/** One protocol endpoint a method, on "/". */
export function floorEndpoints(
  methods: ReadonlyMap<string, FloorMethod>,
  describe: DescribeMethod,
): readonly ProtocolEndpoint[] {
  return [...methods].map(([method, floorMethod]) => ({
    ...describe(method),
    ...{ method, path: "/", impact: impactOf(method), isReading: READING.has(method) },
    ...{ isListed: false, ...floorMethod },
  }));
}

/** The impact of calling a floor method. */
export function impactOf(method: string): Impact {
  if (READING.has(method)) return "informational";
  return IRREVERSIBLE.has(method) ? "irreversible" : "reversible";
}
