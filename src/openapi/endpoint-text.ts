/** An imported endpoint as the text of its file: what it was, what to judge, and the endpoint. */
import { formatProblem, isError } from "../base/problem.ts";
import { parseEndpointFile } from "../endpoint/endpoint-file.ts";
import { OPERATOR_SCHEMA_BOUNDS } from "../schema/schema-bounds.ts";
import { checkSchema } from "../schema/schema-check.ts";
import type { PairRules } from "./assign-pairs.ts";
import type { DraftedEndpoint } from "./import-operation.ts";
import { onOneLine } from "./words.ts";
import { writeToml } from "./write-toml.ts";

/** In front of everything that a person has to judge; `agtpd doctor` looks for it. */
export const REVIEW_MARK = "REVIEW:";

/** The file of an endpoint. */
export function endpointText(endpoint: DraftedEndpoint, source: string): string {
  const { operation, table, reviews } = endpoint;
  const { httpMethod, path, id } = operation;
  const name = id === undefined ? "" : ` (${onOneLine(id)})`;
  const general = reviews.filter(({ key }) => key === "");
  const header = [
    `# ${httpMethod} ${onOneLine(path)}${name} of ${onOneLine(source)}.`,
    ...(reviews.length === 0
      ? []
      : ["# Judge what is marked REVIEW, and take the mark away when it is right."]),
    ...general.map(({ message }) => `# ${REVIEW_MARK} ${onOneLine(message)}`),
  ];
  const remarks = new Map(
    reviews
      .filter(({ key }) => key !== "")
      .map(({ key, message }) => [key, `${REVIEW_MARK} ${onOneLine(message)}`]),
  );
  return `${header.join("\n")}\n\n${writeToml({ endpoint: table }, remarks)}`;
}

/** A file of more is refused at load. */
const MAX_BYTES = 1_048_576;

/**
 * Reads the file as the daemon will, before anything is written: why it would not be served; undefined:
 * it would.   AGTP-API §13.2
 */
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
