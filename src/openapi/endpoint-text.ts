/** An imported endpoint as the text of its file: what it was, what to judge, and the endpoint. */
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
