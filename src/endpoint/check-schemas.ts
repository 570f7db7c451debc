/**
 * Checks valid schemas for what no call could meet: an output that must have what it must not have, a
 * member that no value fits, and a member that reads as the envelope of a body.   AGTP-API §6.4, §13.3
 */

import { joinKey } from "../base/dotted-key.ts";
import { quoteValue, recordIn, textsIn } from "../base/json-value.ts";
import type { Problem } from "../base/problem.ts";
import type { JsonSchema } from "../schema/json-schema.ts";
import { ENVELOPE_KEYS } from "./declared-members.ts";
import { declaredTypes, propertiesOf } from "./input-shape.ts";

interface ServedSchemas {
  readonly file: string;
  readonly input: JsonSchema;
  /** As it is enforced: closed where the server's policy says so. */
  readonly output: JsonSchema;
}

/** Everything that no call could meet; what only some calls meet is a warning. */
export function checkServedSchemas({ file, input, output }: ServedSchemas): readonly Problem[] {
  return [
    ...checkClosed(file, output),
    ...checkMembers({ file, key: "endpoint.input_schema.properties" }, input),
    ...checkMembers({ file, key: "endpoint.output_schema.properties" }, output),
    ...checkEnvelope(file, input),
  ];
}

/** An input is held against its own properties when its file is read. */
function checkClosed(file: string, output: JsonSchema): readonly Problem[] {
  if (output["additionalProperties"] !== false || output["patternProperties"] !== undefined) {
    return [];
  }
  const declared = propertiesOf(output);
  const key = "endpoint.output_schema.required";
  return textsIn(output["required"]).flatMap((name) => {
    if (Object.hasOwn(declared, name)) return [];
    const message = `${quoteValue(name)} is not among the properties, so no output is valid`;
    return [
      { file, key, message, hint: "no others are allowed, by the schema or by output_validation" },
    ];
  });
}

function checkMembers(
  { file, key }: Pick<Problem, "file" | "key">,
  schema: JsonSchema,
): readonly Problem[] {
  return Object.entries(propertiesOf(schema)).flatMap(([name, member]): Problem[] => {
    if (declaredTypes(member, schema).size > 0) return [];
    const message = "allows no value: its type, enum and const contradict each other";
    return [{ file, key: joinKey(key, name), message, severity: "warning" }];
  });
}

/** A body with no other members than those of an envelope is taken for one.   AGTP "Request Body" */
function checkEnvelope(file: string, input: JsonSchema): readonly Problem[] {
  const { parameters } = recordIn(input["properties"]);
  if (parameters === undefined || !declaredTypes(parameters, input).has("object")) return [];
  if (textsIn(input["required"]).some((name) => !ENVELOPE_KEYS.has(name))) return [];
  const key = "endpoint.input_schema.properties.parameters";
  const message = "a body with this member alone is taken for an envelope around the input";
  const hint = 'callers have to send {"parameters": {"parameters": …}}: give it another name';
  return [{ file, key, message, hint, severity: "warning" }];
}
