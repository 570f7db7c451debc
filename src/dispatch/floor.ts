/**
 * The floor: the eighteen methods every AGTP server answers on the path "/".
 * AGTP "Method Floor", AGTP-API §3.1
 */

import type { JsonRecord } from "../base/json-value.ts";
import { FLOOR_METHODS } from "../catalog/catalog.ts";
import type { Capability, Impact } from "../endpoint/endpoint.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import type { ProtocolEndpoint } from "./protocol-endpoint.ts";
import type { RouteHandler } from "./route.ts";

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
export interface FloorMethod {
  readonly inputSchema: JsonSchema;
  readonly handler: RouteHandler;
  readonly takesCertificate?: boolean;
  readonly idempotencyMember?: string;
  readonly deepMembers?: ReadonlySet<string>;
  readonly endsInTime?: boolean;
  /** Tells whether a call is this method's, where its path answers something else as well. */
  isAsked?(input: JsonRecord): boolean;
}

/** The facts about this server that the floor needs. */
export interface FloorOptions {
  /** By method. */
  readonly methods: ReadonlyMap<string, FloorMethod>;
  /** The catalog's sentence about a method. */
  describe(method: string): { readonly description: string; readonly capability: Capability };
}

/** One protocol endpoint a floor method, DISCOVER excepted: its paths are the built-ins. */
export function floorEndpoints(options: FloorOptions): readonly ProtocolEndpoint[] {
  return FLOOR_METHODS.filter((method) => method !== "DISCOVER").map((method) => {
    const floorMethod = options.methods.get(method);
    if (floorMethod === undefined) throw new Error(`nothing answers ${method}`);
    const { description, capability } = options.describe(method);
    return {
      method,
      path: "/",
      description,
      capability,
      impact: impactOf(method),
      isReading: READING.has(method),
      isListed: false,
      ...floorMethod,
    };
  });
}

/** The impact of calling a floor method. */
export function impactOf(method: string): Impact {
  if (READING.has(method)) return "informational";
  return IRREVERSIBLE.has(method) ? "irreversible" : "reversible";
}
