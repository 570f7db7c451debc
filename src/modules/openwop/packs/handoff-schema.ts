/**
 * The schemas of an agent's endpoint: around the task what a dispatch may say besides, around the
 * result what a run says of itself. References inside a pack's schema are led to its new place.
 * OpenWOP RFC 0072 §B, AGTP-API §6.4
 */

import type { JsonSchema } from "../../../schema/json-schema.ts";
import { relocateSchema } from "../../../schema/local-reference.ts";
import { meteredSchema } from "../../../schema/metered-schema.ts";
import type { CompiledSchema } from "../../../schema/schema.ts";
import { AGENT_SCHEMA_BOUNDS, type SchemaBounds } from "../../../schema/schema-bounds.ts";
import { checkSchema } from "../../../schema/schema-check.ts";
import type { SchemaFault } from "../../../schema/schema-references.ts";
import type { InstalledAgent } from "../installed-agent.ts";

/** The largest file that is read as a schema. */
export const MAX_SCHEMA_BYTES: number = AGENT_SCHEMA_BOUNDS.maxLength;

/** An endpoint's schema has the pack's one a little deeper. */
const OUTER_BOUNDS: SchemaBounds = {
  ...AGENT_SCHEMA_BOUNDS,
  maxLength: 2 * MAX_SCHEMA_BYTES,
  maxDepth: 28,
};

/** A schema that values can be checked against, or what is wrong with it. */
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

/** The longest that a caller may ask to wait; the handler's own deadline may be shorter. */
const MAX_WAIT_SECONDS = 300;
const MAX_TAGS = 100;
const MAX_TAG_LENGTH = 256;

/** The members of a dispatch besides its task. */
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

/** Both schemas of an agent's endpoint. */
interface EndpointSchemas {
  readonly input: CompiledSchema;
  readonly output: CompiledSchema;
}

/**
 * Makes the schemas of an agent's endpoint. A schema that does not bear being moved is left to the
 * run, which checks it too.
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

/** Only a root may have a name and a dialect. */
const NAMES: ReadonlySet<string> = new Set(["$id", "$schema"]);

/** A schema whose local references lead to where it is now. */
function movedTo(place: string, schema: JsonSchema): JsonSchema {
  return relocateSchema(schema, (reference) => moved(place, reference), NAMES);
}

/** Anchors are found wherever they are. */
function moved(place: string, reference: string): string {
  const isPointer = reference === "#" || reference.startsWith("#/");
  return isPointer ? place + reference.slice(1) : reference;
}
