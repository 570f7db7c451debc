/**
 * Checks what a step of a recipe gives the endpoint that it reaches, as far as the two schemas and the
 * recipe say it: an input that is missing, unknown or of the wrong kind at every call. What depends on
 * the values of a call is left to the endpoint.   AGTP-API §12.1
 */
import { given, memberOf, quoteValue, textsIn } from "../base/json-value.ts";
import { templateNames } from "../base/template.ts";
import { templateParameters } from "../catalog/path-grammar.ts";
import type { EndpointDefinition } from "../endpoint/endpoint.ts";
import { coerceText } from "../endpoint/input.ts";
import { inputShape, propertiesOf } from "../endpoint/input-shape.ts";
import { fillPath } from "../endpoint/path-template.ts";
import type { RecipeStep } from "../endpoint/recipe.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { prepareMeteredCheck } from "../schema/metered-schema.ts";
import { PROPOSED_SCHEMA_BOUNDS } from "../schema/schema-bounds.ts";
import { checkSchema } from "../schema/schema-check.ts";

/** Everything for which the target refuses each call of a step, in words; `input` is that of the composition. */
export function checkStepInput(
  { parameters, path }: RecipeStep,
  input: JsonSchema,
  target: EndpointDefinition,
): readonly string[] {
  const { inputSchema } = target;
  const goal = `${target.method} ${target.path}`;
  const sources = Object.entries(parameters);
  const isInPath = (name: string): boolean => templateNames(path).includes(name);
  const lost = new Map(
    sources.flatMap(([name, source]): [string, string][] =>
      source.kind === "proposal" && !mayHave(input, source.value) ? [[name, source.value]] : [],
    ),
  );
  const sent = sources.flatMap(([name]) => (isInPath(name) || lost.has(name) ? [] : name));
  const had = new Set([...sent, ...templateParameters(target.path)]);
  const missing = textsIn(inputSchema["required"]).filter((name) => !had.has(name));
  return [
    ...[...lost].flatMap(([name, value]) =>
      isInPath(name) || missing.includes(name)
        ? [`takes ${quoteValue(name)} from ${quoteValue(value)}, which input_schema does not have`]
        : [],
    ),
    ...missing.flatMap((name) =>
      lost.has(name) ? [] : [`does not give ${quoteValue(name)}, which ${goal} requires`],
    ),
    ...sent.flatMap((name) =>
      mayHave(inputSchema, name)
        ? []
        : [`gives ${quoteValue(name)}, which ${goal} does not have in its input_schema`],
    ),
    ...sources.flatMap(([name, source]) => {
      if (source.kind !== "constant") return [];
      const fault = isInPath(name)
        ? pathFault({ name, path, value: source.value }, target)
        : valueFault(name, source.value, inputSchema);
      return fault === undefined ? [] : [`gives a constant ${quoteValue(name)} that ${fault}`];
    }),
  ];
}

/** Tells whether an input may have a member: those of operators take what they declare and nothing else. */
function mayHave(schema: JsonSchema, name: string): boolean {
  return (
    Object.hasOwn(propertiesOf(schema), name) ||
    schema["additionalProperties"] !== false ||
    schema["patternProperties"] !== undefined
  );
}

interface PathConstant {
  readonly name: string;
  /** Of the step. */
  readonly path: string;
  readonly value: unknown;
}

/** The fault of a constant in a path, whose text becomes what the target declares at its place. */
function pathFault(
  { name, path, value }: PathConstant,
  { path: template, inputSchema }: EndpointDefinition,
): string | undefined {
  const filled = fillPath(`/{${name}}`, new Map([[name, value]]));
  if (filled.fault !== undefined) return "cannot stand in a path";
  const own = templateParameters(template)[templateNames(path).indexOf(name)];
  if (own === undefined || templateParameters(template).length !== templateNames(path).length) {
    return undefined;
  }
  const types = inputShape(inputSchema).scalars.get(own);
  const text = String(value);
  return valueFault(own, types === undefined ? text : coerceText(text, types), inputSchema);
}

function valueFault(name: string, value: unknown, schema: JsonSchema): string | undefined {
  const property = memberOf(propertiesOf(schema), name);
  if (property === undefined) return undefined;
  const { $defs, definitions } = schema;
  const alone = { ...given({ $defs, definitions }), allOf: [property] };
  // Elsewhere it refers to what is not at hand, or has a pattern that only the endpoint itself checks.
  if (checkSchema(alone, PROPOSED_SCHEMA_BOUNDS).length > 0) return undefined;
  return prepareMeteredCheck(alone)(value)?.[0]?.message;
}
