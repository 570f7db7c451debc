/**
 * A request for a pair that is not registered, read as a proposal: what it sends says what it
 * takes, and it does not say what it expects.   AGTP-API §10.1.2
 */

import type { ExchangeView } from "../../../dispatch/routes/route.ts";
import type { SemanticBlock } from "../../../endpoint/endpoint.ts";
import { mergeInput } from "../../../endpoint/input.ts";
import { inputShape } from "../../../endpoint/input-shape.ts";
import type { Proposal, SynthesisPlan } from "../../../endpoint/synthesis-plan.ts";
import type { Call } from "../../../handlers/handler.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import type { SchemaType } from "../../../schema/schema-vocabulary.ts";

/** The request as a proposal. */
export function proposalOfRequest(
  { input, query }: Call,
  { method, path }: ExchangeView,
): Proposal {
  const names = Object.keys(input);
  const properties = names.map((name) => [
    name,
    isFromQuery(name, input, query) ? TEXT_OF_A_QUERY : schemaOf(input[name]),
  ]);
  return {
    method,
    path,
    description: "",
    // The request sets no bound: the operator wrote the recipe, and the preview tells its impact.
    semantic: { ...semanticOf(`Do what ${method} ${path} asks for.`), impact: "irreversible" },
    inputSchema: {
      type: "object",
      properties: Object.fromEntries(properties),
      required: names,
      additionalProperties: false,
    },
    outputSchema: {},
  };
}

/** A text may be read as whatever scalar the plan takes.   AGTP-API §5.5 */
const TEXT_OF_A_QUERY: JsonSchema = { type: ["string", "integer", "number", "boolean"] };

function isFromQuery(name: string, input: Call["input"], query: Call["query"]): boolean {
  return Object.hasOwn(query, name) && input[name] === query[name];
}

/** The input, with texts of the query read as what the schema declares. */
export function readQuery({ input, query }: Call, schema: JsonSchema): Call["input"] {
  const texts = Object.entries(query).filter(([name]) => isFromQuery(name, input, query));
  if (texts.length === 0) return input;
  const others = Object.entries(input).filter(([name]) => !isFromQuery(name, input, query));
  return mergeInput(inputShape(schema), Object.fromEntries(others), new Map(texts), undefined);
}

/** Values have a type, and no more is known of them. */
function schemaOf(value: unknown): JsonSchema {
  if (value === null) return { type: "null" };
  if (Array.isArray(value)) return { type: "array" };
  if (typeof value === "number") return { type: Number.isInteger(value) ? "integer" : "number" };
  return { type: typeof value };
}

/** Closed, and typed as the steps are: what was sent, and what the plan would take beside it. */
export function inputSchemaOf(
  input: Readonly<Record<string, unknown>>,
  { recipe, neededInputs, inputTypes }: SynthesisPlan,
): JsonSchema {
  const taken = recipe.steps.flatMap(({ parameters }) =>
    Object.values(parameters).flatMap((source) => (source.kind === "proposal" ? source.value : [])),
  );
  const names = [...new Set([...Object.keys(input), ...taken])];
  return {
    type: "object",
    properties: Object.fromEntries(
      names.map((name) => [name, Object.hasOwn(inputTypes, name) ? typed(inputTypes[name]) : {}]),
    ),
    required: neededInputs,
    additionalProperties: false,
  };
}

function typed(types: readonly SchemaType[] | undefined): JsonSchema {
  const [type, ...others] = types ?? [];
  if (type === undefined) return {};
  return { type: others.length === 0 ? type : types };
}

/** A block for what has none of its own. */
export function semanticOf(intent: string): SemanticBlock {
  return {
    intent,
    actor: "agent",
    outcome: intent,
    capability: "domain_spanning",
    confidence: 0.5,
    impact: "reversible",
    is_idempotent: false,
  };
}
