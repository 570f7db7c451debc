/** The `REVIEW.md` of an import: everything that a person has to judge, file by file. */
import type { ImportedDocument, ImportedEndpoint } from "./import-document.ts";
import type { Variable } from "./security.ts";
import { onOneLine } from "./words.ts";

/** The list; `warnings` are what the document breaks of its specification. */
export function reviewText(imported: ImportedDocument, warnings: readonly string[]): string {
  const { title, version, endpoints, leftOut, variables, notes } = imported;
  const open = endpoints.filter(({ reviews }) => reviews.length > 0);
  const sections = [
    [
      `# Review of ${literal(`${title} ${version}`)}`,
      "",
      `${endpoints.length} endpoints were drafted, ${open.length} of them need a look. An endpoint`,
      "counts when somebody who knows the API has confirmed its intent, its outcome and above all",
      "its impact: nothing in an OpenAPI document says whether a call can be undone.",
      "The same remarks stand as `# REVIEW:` in the files; take each away when it is right.",
    ],
    section("Variables", variables.map(variableLine)),
    section(
      "Left out",
      leftOut.map(({ operation, reason }) => `${literal(operation)}: ${literal(reason)}`),
    ),
    section("The document", [...notes, ...warnings].map(literal)),
    section("Pairs", endpoints.map(pairLine)),
    ["## Endpoints", ...open.flatMap(endpointLines)],
  ];
  const lines = sections.filter((part) => part.length > 0).map((part) => part.join("\n"));
  return `${lines.join("\n\n")}\n`;
}

function section(title: string, lines: readonly string[]): readonly string[] {
  return lines.length === 0 ? [] : [`## ${title}`, "", ...lines.map((line) => `- ${line}`)];
}

/** An import chose the name; a person judges who gets the secret. */
function variableLine({ name, purpose, sentTo }: Variable): string {
  return `[ ] \`${name}\`: ${literal(purpose)}; sent to ${literal(sentTo.join(", "))}`;
}

function pairLine({ operation, method, path, file }: ImportedEndpoint): string {
  const from = `${operation.httpMethod} ${operation.path}`;
  return `${literal(from)} is \`${method} ${path}\`, in ${file}`;
}

function endpointLines({ file, reviews }: ImportedEndpoint): readonly string[] {
  const lines = reviews.map(({ key, message }) => {
    const place = key === "" ? "" : `\`${key.replace(/^endpoint\./, "")}\`: `;
    return `- [ ] ${place}${literal(message)}`;
  });
  return ["", `### ${file}`, "", ...lines];
}

/** Text of a document that Markdown shows as it is. */
function literal(text: string): string {
  return onOneLine(text).replace(/[\\`*_<>[\]|]/g, "\\$&");
}
