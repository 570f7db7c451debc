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
  /** Whether a call is this method's, where its path answers something else as well. */
  isAsked?(input: JsonRecord): boolean;
}

/** What the floor needs to know of this server. */
export interface FloorOptions {
  /** By method. */
  readonly methods: ReadonlyMap<string, FloorMethod>;
  /** What an agent reads about a method: the catalog's sentence. */
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

/** What calling a floor method can do. */
export function impactOf(method: string): Impact {
  if (READING.has(method)) return "informational";
  return IRREVERSIBLE.has(method) ? "irreversible" : "reversible";
}
