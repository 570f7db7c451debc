/**
 * Checks what a function of a process says of its parameters and its result against the schemas of
 * the endpoint that names it, so that what would fail at every call is told at the start.
 */
import { isRecord, type JsonRecord, quoteValue, textsIn } from "../base/json-value.ts";
import { declaredTypes, propertiesOf } from "../endpoint/input-shape.ts";
import type { JsonSchema } from "../schema/json-schema.ts";

/** Everything that does not go together, in words. */
export function checkSignature(
  signature: JsonRecord | undefined,
  inputSchema: JsonSchema,
  outputSchema: JsonSchema,
): readonly string[] {
  if (signature === undefined) return [];
  const { input, output } = signature;
  return [
    ...(isRecord(input) ? checkInput(input, inputSchema) : []),
    ...(isRecord(output) ? checkOutput(output, outputSchema) : []),
  ];
}

/** Each parameter has to be given, and may have to take whatever the schema lets through. */
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

/** Each member of the result that the schema declares has to be one that it lets through. */
function checkOutput(signature: JsonSchema, schema: JsonSchema): readonly string[] {
  const returned = propertiesOf(signature);
  const always = new Set(textsIn(signature["required"]));
  const missing = textsIn(schema["required"]).filter((name) => !always.has(name));
  const faults = Object.entries(propertiesOf(schema)).flatMap(([name, declared]) => {
    if (!Object.hasOwn(returned, name)) return [];
    const fault = typeFault(returned[name], signature, declared, schema);
    return fault === undefined
      ? []
      : [
          `the function returns ${fault[0]} as ${quoteValue(name)}, and output_schema wants ${fault[1]}`,
        ];
  });
  return [
    ...missing.map(
      (name) => `the function may not return ${quoteValue(name)}, which output_schema requires`,
    ),
    ...faults,
  ];
}

/**
 * The types that one schema lets through and the other does not, and those that the other does.
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
