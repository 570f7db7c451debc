/** The files of an imported API, and the report of the import. */

import { readFileSync } from "node:fs";
import { isIP } from "node:net";
import { literalValue } from "../base/environment.ts";
import type { JsonRecord } from "../base/json-value.ts";
import { fillTemplate, templateNames } from "../base/template.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { parseCatalog, shippedCatalogPath } from "../catalog/catalog-file.ts";
import { checkTemplate, type MethodNames, methodNames } from "../catalog/path-grammar.ts";
import { PairSet } from "./endpoint-path.ts";
import { liftVerb, methodReader } from "./http-form.ts";
import type { ImportedDocument, ImportedEndpoint } from "./import-document.ts";
import type { DraftedEndpoint, Review } from "./import-operation.ts";
import type { Variable } from "./servers-and-security.ts";
import { onOneLine } from "./words.ts";
import { writeToml } from "./write-toml.ts";

interface ImportedFile {
  /** Relative to the deployment directory. */
  readonly path: string;
  readonly content: string;
}

/** The path of the signing key, relative to the deployment. */
export const SIGNING_KEY = ".agtp/keys/signing.pem";

/** Lists every file of the deployment. */
export function importFiles(
  imported: ImportedDocument,
  warnings: readonly string[],
  catalog: CatalogText,
): readonly ImportedFile[] {
  const names = methodNames(catalog.catalog, []);
  const redirects = httpRedirects(imported.endpoints, catalog.catalog, names);
  return [
    { path: "agtp-server.toml", content: configText(imported, redirects) },
    // The catalog that methods were chosen from, so that a later catalog is the operator's decision.
    { path: "catalog/methods.json", content: catalog.text },
    { path: ".env.example", content: envText(imported.variables) },
    { path: "REVIEW.md", content: reviewText(imported, warnings) },
    ...imported.endpoints.map(({ file, text }) => ({ path: file, content: text })),
  ];
}

/** The report of `--json`. */
export function importReport(imported: ImportedDocument, warnings: readonly string[]): JsonRecord {
  return {
    title: imported.title,
    version: imported.version,
    base_urls: imported.baseUrls,
    endpoints: imported.endpoints.map(({ operation, file, method, path, reviews }) => ({
      file,
      method,
      path,
      operation: `${operation.httpMethod} ${operation.path}`,
      operation_id: operation.id,
      review: reviews.map(({ key, message }) => ({ key, message })),
    })),
    left_out: imported.leftOut,
    variables: imported.variables,
    notes: [...imported.notes, ...warnings],
  };
}

/** Keys that are marked in every draft, because documents cannot answer them. */
const STANDING_MARKS: ReadonlySet<string> = new Set([
  "endpoint.semantic.impact",
  "endpoint.semantic.outcome",
]);

/** Returns true if there is more to review than the marks that every draft has. */
export function needsReview({ endpoints, leftOut, notes }: ImportedDocument): boolean {
  const isOpen = ({ key, isUsual }: Review): boolean => !isUsual && !STANDING_MARKS.has(key);
  const isAnyLost = leftOut.length > 0 || notes.length > 0;
  return isAnyLost || endpoints.some(({ reviews }) => reviews.some(isOpen));
}

/** The text of the review list; `warnings` are the document's violations of its specification. */
function reviewText(imported: ImportedDocument, warnings: readonly string[]): string {
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

/** Lists where each secret is sent: the name was chosen by the import, the recipient needs a person's review. */
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

/** Escapes text of a document so that Markdown shows it unchanged. */
function literal(text: string): string {
  return onOneLine(text).replace(/[\\`*_<>[\]|]/g, "\\$&");
}

/** The configuration: only values that differ from the defaults. */
function configText(imported: ImportedDocument, redirects: readonly HttpRedirect[]): string {
  const { title, version, description, documentation, baseUrls } = imported;
  const apis = baseUrls.map((url, index) => ({
    name: index === 0 ? title : `${title} (${index + 1})`,
    description: description || undefined,
    base_url: url,
    http_documentation: documentation,
  }));
  const parts = [
    `# ${onOneLine(`${title} ${version}`)} for agents, drafted from its OpenAPI document.`,
    "# Before it serves: set the variables of .env.example, and go through REVIEW.md.",
    "",
    writeToml({ server: { server_id: serverId(baseUrls[0] ?? "") } }).trimEnd(),
    "",
    "# Signs records and the manifest, and the agents of agtp-keys genesis: secret, and kept a copy of.",
    writeToml({ signing: { key: SIGNING_KEY } }).trimEnd(),
    "",
    "# Listed by DISCOVER /apis and in the manifest.",
    writeToml(literalValue({ apis })).trimEnd(),
  ];
  if (redirects.length > 0) {
    parts.push(
      "",
      "# What HTTP clients of the sidecar ask for leads to the endpoint that does it.",
      ...redirects.flatMap((redirect) => [
        "[[policies.methods.redirects]]",
        writeToml(literalValue({ ...redirect })),
      ]),
    );
  }
  return `${parts.join("\n").trimEnd()}\n`;
}

/** `agents.` and the host's name; an IP address yields no name, so its operator should choose one. */
function serverId(baseUrl: string): string {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : "";
  const isName = /^[a-z0-9.-]+$/i.test(host) && isIP(host) === 0;
  return `agents.${isName ? host : "example"}`.slice(0, 253);
}

/** A `.env` file with placeholders for secrets, in shell syntax. */
function envText(variables: readonly Variable[]): string {
  const lines = variables.flatMap(({ name, purpose, sentTo }) => [
    `# ${onOneLine(`${purpose}; sent to ${sentTo.join(", ")}`)}`,
    `${name}=change-me`,
  ]);
  const head =
    variables.length === 0
      ? ["# The API asks for no credentials."]
      : ["# Copy this to .env, put the secrets in, and keep it out of version control."];
  return `${[...head, ...lines].join("\n")}\n`;
}

/** One entry of `[[policies.methods.redirects]]`. */
interface HttpRedirect {
  readonly from_method: string;
  readonly from_path: string;
  readonly to_method: string;
  readonly to_path: string;
}

/**
 * Redirects that keep HTTP clients working: through the sidecar `GET /pets` is `FETCH /pets`, which
 * is redirected to the operation's endpoint. A redirect is only written if it affects no other
 * endpoint.   AGTP-API §9.2, §14.3
 */
export function httpRedirects(
  endpoints: readonly DraftedEndpoint[],
  catalog: Catalog,
  names: MethodNames,
): readonly HttpRedirect[] {
  const wanted = endpoints.flatMap((endpoint) => redirectTo(endpoint, catalog, names) ?? []);
  const served = new PairSet();
  for (const { method, path } of endpoints) served.add(method, path);
  // Redirects are applied before endpoints, so one may only match its own requests.
  const free = wanted.filter(({ from_method: method, from_path: path }) =>
    served.overlapping(method, path).every((other) => isNarrower(path, other)),
  );
  const parameters = ({ from_path: path }: HttpRedirect): number => path.split("{").length;
  const earlier = new PairSet();
  return free
    .toSorted((a, b) => parameters(a) - parameters(b))
    .filter(({ from_method: method, from_path: path }) => {
      // Of two equally specific redirects the first is kept.
      const isFirst = !earlier.isAmbiguous(method, path);
      earlier.add(method, path);
      return isFirst;
    });
}

/** Returns true if every path that a template matches is also matched by another, broader one. */
function isNarrower(path: string, other: string): boolean {
  const theirs = other.split("/");
  const pairs = path.split("/").map((segment, index) => [segment, theirs[index] ?? ""] as const);
  return (
    pairs.every(([ours, their]) => their.startsWith("{") || ours === their) &&
    pairs.some(([ours, their]) => their.startsWith("{") && !ours.startsWith("{"))
  );
}

/**
 * The redirect from the pair that the sidecar derives from the operation's HTTP request; undefined
 * if it needs none.
 */
function redirectTo(
  { operation, method, path, table }: DraftedEndpoint,
  catalog: Catalog,
  names: MethodNames,
): HttpRedirect | undefined {
  const [plain = ""] = operation.path.split(/[?#]/, 1);
  const parameters = templateNames(path);
  let index = 0;
  const renamed = fillTemplate(plain, () => {
    index += 1;
    return `{${parameters[index - 1] ?? ""}}`;
  });
  const lifted = liftVerb(renamed, methodReader(catalog, operation.httpMethod));
  const fromMethod = lifted?.method ?? catalog.legacy.get(operation.httpMethod)?.preferred;
  const fromPath = lifted?.path ?? renamed;
  if (fromMethod === undefined || !catalog.has(fromMethod) || table["method"] !== method) {
    return undefined;
  }
  if (fromMethod === method && fromPath === path) return undefined;
  if (checkTemplate(fromPath, names) !== undefined) return undefined;
  return { from_method: fromMethod, from_path: fromPath, to_method: method, to_path: path };
}

/** A catalog, and the text of its file. */
interface CatalogText {
  readonly catalog: Catalog;
  readonly text: string;
}

/** Loads the catalog that ships with the product. */
export function loadShippedCatalog(): CatalogText {
  const text = readFileSync(shippedCatalogPath(), "utf8");
  const { catalog } = parseCatalog(text, "catalog/methods.json");
  if (catalog === undefined) throw new Error("the product's own catalog is no catalog");
  return { catalog, text };
}
