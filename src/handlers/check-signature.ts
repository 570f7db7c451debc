/**
 * Checks at start-up, against the schemas of its endpoint, what is known of a handler before a
 * call: the parameters and result that a process declares for its function, and results of a fixed
 * form. A mismatch would fail every call.
 */
import { isRecord, type JsonRecord, quoteValue, textsIn } from "../base/json-value.ts";
import type { EndpointDefinition } from "../endpoint/endpoint.ts";
import { declaredTypes, propertiesOf } from "../endpoint/input-shape.ts";
import type { Recipe } from "../endpoint/recipe.ts";
import { isList } from "../endpoint/upstream-format.ts";
import type { JsonSchema } from "../schema/json-schema.ts";

/** Returns each mismatch between the signature and the endpoint's schemas, in words. */
export function checkSignature(
  signature: JsonRecord | undefined,
  inputSchema: JsonSchema,
  outputSchema: JsonSchema,
): readonly string[] {
  if (signature === undefined) return [];
  const { input, output } = signature;
  return [
    ...(isRecord(input) ? checkInput(input, inputSchema) : []),
    ...(isRecord(output) ? checkOutput(output, outputSchema, FUNCTION) : []),
  ];
}

/** Checks that each parameter is supplied, and accepts every type that the schema allows. */
function checkInput(signature: JsonSchema, schema: JsonSchema): readonly string[] {
  const given = propertiesOf(schema);
  const wanted = new Set(textsIn(signature["required"]));
  const always = new Set(textsIn(schema["required"]));
  return Object.entries(propertiesOf(signature)).flatMap(([name, parameter]) => {
    const quoted = quoteValue(name);
    if (!Object.hasOwn(given, name)) {
      return [`the function takes a parameter ${quoted}, which input_schema does not have`];
    }
    if (wanted.has(name) && !always.has(name)) {
      return [`the function needs the parameter ${quoted}, which input_schema does not require`];
    }
    const fault = typeFault(given[name], schema, parameter, signature);
    return fault === undefined
      ? []
      : [`the function takes ${fault[1]} for ${quoted}, and input_schema lets ${fault[0]} through`];
  });
}

/** The wording of messages about a result, with the producer as subject. */
interface ResultWords {
  readonly gives: string;
  readonly lacks: string;
}

const FUNCTION: ResultWords = {
  gives: "the function returns",
  lacks: "the function may not return",
};

/** Checks that the schema allows each member of the result, and that none it requires is missing. */
function checkOutput(
  signature: JsonSchema,
  schema: JsonSchema,
  { gives, lacks }: ResultWords,
): readonly string[] {
  const returned = propertiesOf(signature);
  const declared = propertiesOf(schema);
  const always = new Set(textsIn(signature["required"]));
  const missing = textsIn(schema["required"]).filter((name) => !always.has(name));
  const isClosed =
    schema["additionalProperties"] === false && schema["patternProperties"] === undefined;
  const strange = isClosed ? [...always].filter((name) => !Object.hasOwn(declared, name)) : [];
  const faults = Object.entries(declared).flatMap(([name, member]) => {
    if (!Object.hasOwn(returned, name)) return [];
    const fault = typeFault(returned[name], signature, member, schema);
    return fault === undefined
      ? []
      : [`${gives} ${fault[0]} as ${quoteValue(name)}, and output_schema wants ${fault[1]}`];
  });
  return [
    ...missing.map((name) => `${lacks} ${quoteValue(name)}, which output_schema requires`),
    ...strange.map((name) => `${gives} ${quoteValue(name)}, which output_schema does not allow`),
    ...faults,
  ];
}

const TEXT: JsonSchema = { type: "string" };

/** Returns each mismatch between an output schema and a result of fixed form, in words.   AGTP-API §12.1, §12.3 */
export function checkFixedResult(
  { handler, outputSchema }: EndpointDefinition,
  recipe?: Pick<Recipe, "name" | "aggregation">,
): readonly string[] {
  if (recipe?.aggregation === "list") {
    const who = `mode = "list" of recipe ${quoteValue(recipe.name)}`;
    return checkMembers({ results: { type: "array" } }, outputSchema, who);
  }
  if (handler.type !== "external_service") return [];
  if (handler.method === "HEAD") return checkMembers({}, outputSchema, "HEAD");
  const format = handler.encoding?.responseFormat ?? "json";
  if (format === "json") return [];
  const who = `response_format = "${format}"`;
  if (isList(format)) return checkType({ type: "array" }, outputSchema, who);
  const content = format === "text" ? "text" : "base64";
  return checkMembers({ [content]: TEXT, media_type: TEXT }, outputSchema, who);
}

/** Checks a result of exactly these members. */
function checkMembers(properties: JsonSchema, schema: JsonSchema, who: string): readonly string[] {
  const signature = { type: "object", properties, required: Object.keys(properties) };
  const faults = checkType(signature, schema, who);
  if (faults.length > 0) return faults;
  const words = { gives: `${who} gives`, lacks: `${who} does not give` };
  return checkOutput(signature, schema, words);
}

/** Checks a result of exactly this type. */
function checkType(signature: JsonSchema, schema: JsonSchema, who: string): readonly string[] {
  const fault = typeFault(signature, signature, schema, schema);
  return fault === undefined
    ? []
    : [`${who} gives ${fault[0]}, and output_schema wants ${fault[1]}`];
}

/**
 * The types that `from` allows and `to` does not, and the types that `to` allows; undefined if `to`
 * allows all.
 */
function typeFault(
  from: unknown,
  fromRoot: JsonSchema,
  to: unknown,
  toRoot: JsonSchema,
): readonly [string, string] | undefined {
  const taken = declaredTypes(to, toRoot);
  const refused = [...declaredTypes(from, fromRoot)].filter((type) => !taken.has(type));
  if (refused.length === 0) return undefined;
  return [refused.join(" or "), [...taken].join(" or ") || "nothing"];
}
