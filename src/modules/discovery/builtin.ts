/** A reserved DISCOVER built-in: its name, its contract, and the handler that answers it. */

import type { RouteHandler } from "../../dispatch/routes/route.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";

/** One reserved path of DISCOVER. */
export interface Builtin {
  /** The reserved name; the path is `/name`. */
  readonly name: string;
  readonly description: string;
  /** Parameters of this built-in alone. */
  readonly inputProperties?: Readonly<Record<string, unknown>>;
  readonly outputSchema: JsonSchema;
  readonly handler: RouteHandler;
  /** Makes what the handler answers with, where that takes long. */
  prepare?(): Promise<void>;
}

/** Schema of a bare array of objects with some required members. */
export function arrayOf(required: readonly string[]): JsonSchema {
  return { type: "array", items: { type: "object", required } };
}
