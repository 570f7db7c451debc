/**
 * The schemas of an agent's endpoint: the task wrapped in a dispatch's other members, and the result wrapped in the
 * run's own. Local references of a pack's schema are moved along.   OpenWOP RFC 0072 §B, AGTP-API §6.4
 */

import type { JsonSchema } from "../../../schema/json-schema.ts";
import { relocateSchema } from "../../../schema/local-reference.ts";
import { meteredSchema } from "../../../schema/metered-schema.ts";
import type { CompiledSchema } from "../../../schema/schema.ts";
import { AGENT_SCHEMA_BOUNDS, type SchemaBounds } from "../../../schema/schema-bounds.ts";
import { checkSchema } from "../../../schema/schema-check.ts";
import type { SchemaFault } from "../../../schema/schema-references.ts";
import type { InstalledAgent } from "../installed-agent.ts";

/** The maximum size of a schema file. */
export const MAX_SCHEMA_BYTES: number = AGENT_SCHEMA_BOUNDS.maxLength;

/** The endpoint's schema nests the pack's a little deeper. */
const OUTER_BOUNDS: SchemaBounds = {
  ...AGENT_SCHEMA_BOUNDS,
  maxLength: 2 * MAX_SCHEMA_BYTES,
  maxDepth: 28,
};

/** A compiled schema, or its faults. */
type HandoffSchema =
  | { readonly compiled: CompiledSchema; readonly faults?: undefined }
  | { readonly compiled?: undefined; readonly faults: readonly SchemaFault[] };

/** Compiles a schema of a pack. */
export function compileHandoffSchema(
  schema: JsonSchema,
  bounds: SchemaBounds = AGENT_SCHEMA_BOUNDS,
): HandoffSchema {
  const faults = checkSchema(schema, bounds);
  if (faults.length > 0) return { faults };
  return { compiled: meteredSchema(schema) };
}

/** The maximum of `wait_seconds`; the handler's own deadline may be shorter. */
const MAX_WAIT_SECONDS = 300;
const MAX_TAGS = 100;
const MAX_TAG_LENGTH = 256;

/** The members of a dispatch except its task. */
export const DISPATCH_MEMBERS: Readonly<Record<string, JsonSchema>> = {
  configurable: { type: "object", description: "Options of the run." },
  wait_seconds: {
    ...{ type: "number", minimum: 0, maximum: MAX_WAIT_SECONDS },
    description: "How long to wait for the result; without it, the run is only started.",
  },
  tags: {
    ...{ type: "array", items: { type: "string", maxLength: MAX_TAG_LENGTH } },
    maxItems: MAX_TAGS,
  },
  metadata: { type: "object" },
  idempotency_key: { type: "string", description: "Says the same as the Idempotency-Key header." },
};

/** The schemas of an agent's endpoint. */
interface EndpointSchemas {
  readonly input: CompiledSchema;
  readonly output: CompiledSchema;
}

/**
 * Returns the schemas of an agent's endpoint. A schema that is invalid when nested is replaced by an open one; the run
 * checks the value anyway.
 */
export function endpointSchemas({ taskSchema, returnSchema }: InstalledAgent): EndpointSchemas {
  return {
    input: compile(inputSchema, taskSchema?.schema),
    output: compile(outputSchema, returnSchema?.schema),
  };
}

function inputSchema(task: JsonSchema): JsonSchema {
  return {
    type: "object",
    required: ["task"],
    properties: { task: movedTo("#/properties/task", task), ...DISPATCH_MEMBERS },
    additionalProperties: false,
  };
}

function outputSchema(result: JsonSchema): JsonSchema {
  return {
    type: "object",
    required: ["runId", "status"],
    properties: {
      runId: { type: "string" },
      status: { type: "string" },
      eventsUrl: { type: "string" },
      result: movedTo("#/properties/result", result),
    },
  };
}

function compile(make: (inner: JsonSchema) => JsonSchema, inner: JsonSchema = {}): CompiledSchema {
  const { compiled } = compileHandoffSchema(make(inner), OUTER_BOUNDS);
  const open = compiled ?? compileHandoffSchema(make({}), OUTER_BOUNDS).compiled;
  if (open === undefined) throw new Error("the schema of an agent's endpoint is no schema");
  return open;
}

/** Keywords that are only allowed at the root. */
const NAMES: ReadonlySet<string> = new Set(["$id", "$schema"]);

/** Rewrites a schema's local references for its new place. */
function movedTo(place: string, schema: JsonSchema): JsonSchema {
  return relocateSchema(schema, (reference) => moved(place, reference), NAMES);
}

/** Only pointers move: anchors resolve from anywhere. */
function moved(place: string, reference: string): string {
  const isPointer = reference === "#" || reference.startsWith("#/");
  return isPointer ? place + reference.slice(1) : reference;
}
