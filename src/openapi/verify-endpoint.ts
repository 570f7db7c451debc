/**
 * Reads an imported endpoint as the daemon will: what it would refuse is found before anything is
 * written.   AGTP-API §13.2
 */

import { formatProblem, isError } from "../base/problem.ts";
import { parseEndpointFile } from "../endpoint/endpoint-file.ts";
import { OPERATOR_SCHEMA_BOUNDS } from "../schema/schema-bounds.ts";
import { checkSchema } from "../schema/schema-check.ts";
import type { PairRules } from "./assign-pairs.ts";
import type { DraftedEndpoint } from "./import-operation.ts";

/** A file of more is refused at load. */
const MAX_BYTES = 1_048_576;

/** Why the daemon would not serve the endpoint; undefined: it would. */
export function findEndpointFault(
  text: string,
  { variables }: Pick<DraftedEndpoint, "variables">,
  { catalog, names }: PairRules,
): string | undefined {
  if (Buffer.byteLength(text) > MAX_BYTES) return "it is too large for an endpoint file";
  const env = Object.fromEntries(variables.map(({ name }) => [name, "secret"]));
  const vocabulary = { catalog, names, customMethods: new Set<string>() };
  const context = { ...vocabulary, directory: "/", env };
  const { definition, problems } = parseEndpointFile(text, "the endpoint", context);
  const problem = problems.find(isError);
  if (problem !== undefined) return formatProblem(problem);
  if (definition === undefined) return "it is no endpoint";
  for (const schema of [definition.inputSchema, definition.outputSchema]) {
    const [fault] = checkSchema(schema, OPERATOR_SCHEMA_BOUNDS);
    if (fault !== undefined) return `its schema at ${fault.key || "the root"} ${fault.message}`;
  }
  return undefined;
}
