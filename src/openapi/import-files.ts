/** The files of an imported API, and what is reported about them. */

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

/** Every file of the deployment. */
export function importFiles(
  imported: ImportedDocument,
  warnings: readonly string[],
  catalog: CatalogText,
): readonly ImportedFile[] {
  const names = methodNames(catalog.catalog, []);
  const redirects = httpRedirects(imported.endpoints, catalog.catalog, names);
  return [
    { path: "agtp-server.toml", content: configText(imported, redirects) },
    // The vocabulary that methods were chosen from, so that the next one is the operator's decision.
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

/** Marked in every draft, since no document can say them. */
const STANDING_MARKS: ReadonlySet<string> = new Set([
  "endpoint.semantic.impact",
  "endpoint.semantic.outcome",
]);

/** Tells whether somebody has to judge more than what always has to be. */
export function needsReview({ endpoints, leftOut, notes }: ImportedDocument): boolean {
  const isOpen = ({ key, isUsual }: Review): boolean => !isUsual && !STANDING_MARKS.has(key);
  const isAnyLost = leftOut.length > 0 || notes.length > 0;
  return isAnyLost || endpoints.some(({ reviews }) => reviews.some(isOpen));
}

/** The list; `warnings` are what the document breaks of its specification. */
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

/** The configuration: what differs from the defaults, and nothing else. */
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

/** `agents.` and the host's name; an address has none, and its operator may have a better one. */
function serverId(baseUrl: string): string {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : "";
  const isName = /^[a-z0-9.-]+$/i.test(host) && isIP(host) === 0;
  return `agents.${isName ? host : "example"}`.slice(0, 253);
}

/** Variables with words in place of secrets, as shells read them. */
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
 * Redirects that let HTTP clients go on as they are: through the sidecar `GET /pets` is `FETCH /pets`,
 * which leads to the endpoint that the operation has become. One is written only where it changes
 * nothing for any other endpoint.   AGTP-API §9.2, §14.3
 */
export function httpRedirects(
  endpoints: readonly DraftedEndpoint[],
  catalog: Catalog,
  names: MethodNames,
): readonly HttpRedirect[] {
  const wanted = endpoints.flatMap((endpoint) => redirectTo(endpoint, catalog, names) ?? []);
  const served = new PairSet();
  for (const { method, path } of endpoints) served.add(method, path);
  // A redirect goes before the endpoints: it may only take what is its own.
  const free = wanted.filter(({ from_method: method, from_path: path }) =>
    served.overlapping(method, path).every((other) => isNarrower(path, other)),
  );
  const parameters = ({ from_path: path }: HttpRedirect): number => path.split("{").length;
  const earlier = new PairSet();
  return free
    .toSorted((a, b) => parameters(a) - parameters(b))
    .filter(({ from_method: method, from_path: path }) => {
      // Of two that could both apply with equal right, the first one stands.
      const isFirst = !earlier.isAmbiguous(method, path);
      earlier.add(method, path);
      return isFirst;
    });
}

/** Tells whether a template matches some of the paths that another one matches, and no others. */
function isNarrower(path: string, other: string): boolean {
  const theirs = other.split("/");
  const pairs = path.split("/").map((segment, index) => [segment, theirs[index] ?? ""] as const);
  return (
    pairs.every(([ours, their]) => their.startsWith("{") || ours === their) &&
    pairs.some(([ours, their]) => their.startsWith("{") && !ours.startsWith("{"))
  );
}

/** The pair that the sidecar makes of the operation's own method and path, where that is another one. */
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

/** A catalog, and what its file says. */
interface CatalogText {
  readonly catalog: Catalog;
  readonly text: string;
}

/** The catalog that comes with the product. */
export function loadShippedCatalog(): CatalogText {
  const text = readFileSync(shippedCatalogPath(), "utf8");
  const { catalog } = parseCatalog(text, "catalog/methods.json");
  if (catalog === undefined) throw new Error("the product's own catalog is no catalog");
  return { catalog, text };
}
