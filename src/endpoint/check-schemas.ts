/**
 * Checks valid schemas for requirements that no call can meet: an output that requires an
 * undeclared member, a member that permits no value, and a member that is mistaken for a body's
 * envelope.   AGTP-API §6.4, §13.3
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
  /** The output schema as enforced, closed if the server's policy says so. */
  readonly output: JsonSchema;
}

/** Reports requirements that no call can meet; those that only some calls can are warnings. */
export function checkServedSchemas({ file, input, output }: ServedSchemas): readonly Problem[] {
  return [
    ...checkClosed(file, output),
    ...checkMembers({ file, key: "endpoint.input_schema.properties" }, input),
    ...checkMembers({ file, key: "endpoint.output_schema.properties" }, output),
    ...checkEnvelope(file, input),
  ];
}

/** Checks a closed output; an input's required members were checked when its file was read. */
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

/**
 * Warns of an input that is taken for an envelope, since its body may have no other members.   AGTP
 * "Request Body"
 */
function checkEnvelope(file: string, input: JsonSchema): readonly Problem[] {
  const { parameters } = recordIn(input["properties"]);
  if (parameters === undefined || !declaredTypes(parameters, input).has("object")) return [];
  if (textsIn(input["required"]).some((name) => !ENVELOPE_KEYS.has(name))) return [];
  const key = "endpoint.input_schema.properties.parameters";
  const message = "a body with this member alone is taken for an envelope around the input";
  const hint = 'callers have to send {"parameters": {"parameters": …}}: give it another name';
  return [{ file, key, message, hint, severity: "warning" }];
}
