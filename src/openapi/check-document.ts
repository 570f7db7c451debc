/**
 * Decides whether a document is one that can be imported: OpenAPI 3.0 or 3.1, with operations, and
 * whole in itself. Another version, and a reference out of the document, are refused in words:
 * nothing that a document names is ever opened.
 */
import { escapeToken } from "../base/dotted-key.ts";
import { isRecord, type JsonRecord, quoteValue } from "../base/json-value.ts";
import { recordAt, resolveReference } from "./reference.ts";

const MAX_NAMED = 10;
/** Values of these are data, in which `$ref` is a name like any other. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set([
  ...["example", "default", "enum", "const", "value"],
]);
/** Members of these have names that nobody can take for keywords. */
const NAMING_KEYWORDS: ReadonlySet<string> = new Set([
  ...["properties", "patternProperties", "$defs", "definitions", "schemas", "responses"],
  ...["parameters", "requestBodies", "headers", "securitySchemes", "links", "callbacks"],
  ...["pathItems", "paths", "webhooks", "content", "dependentSchemas", "examples"],
]);

/** Everything that keeps a document from being imported; empty: nothing does. */
export function checkDocument(document: JsonRecord): readonly string[] {
  const version = versionFault(document);
  if (version !== undefined) return [version];
  const { info, paths } = document;
  const faults: string[] = [];
  if (!isRecord(info)) faults.push("info is missing, expected an object with title and version");
  if (!isRecord(paths) || Object.keys(paths).length === 0) {
    faults.push("has no paths, so there is nothing to import");
  }
  return [...faults, ...referenceFaults(document)];
}

function versionFault({ openapi, swagger }: JsonRecord): string | undefined {
  if (swagger !== undefined && openapi === undefined) {
    const version = quoteValue(swagger);
    return `is Swagger ${version}, expected OpenAPI 3.0 or 3.1: convert the document to OpenAPI 3`;
  }
  if (openapi === undefined) return "is no OpenAPI document: it has no member openapi";
  const text = typeof openapi === "number" ? openapi.toFixed(1) : openapi;
  if (typeof text === "string" && /^3\.[01](?:\.|$)/.test(text)) return undefined;
  return `is OpenAPI ${quoteValue(openapi)}, expected 3.0 or 3.1`;
}

/** Tells whether a document has the schemas of OpenAPI 3.0, which are a dialect of their own. */
export function hasOldSchemas({ openapi }: JsonRecord): boolean {
  return /^3(?:\.0|$)/.test(String(openapi));
}

function referenceFaults(document: JsonRecord): readonly string[] {
  const outside = new Map<string, string>();
  const dangling = new Map<string, string>();
  const visit = (value: unknown, pointer: string, isNaming: boolean): void => {
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) visit(item, `${pointer}/${index}`, false);
    }
    if (!isRecord(value)) return;
    const reference = value["$ref"];
    if (typeof reference === "string" && !isNaming) {
      if (!reference.startsWith("#")) outside.set(reference, pointer);
      else if (resolveReference(reference, document) === undefined)
        dangling.set(reference, pointer);
    }
    for (const [name, member] of Object.entries(value)) {
      const isData = DATA_KEYWORDS.has(name) || name.startsWith("x-");
      if (!isNaming && (isData || (name === "examples" && Array.isArray(member)))) continue;
      visit(member, `${pointer}/${escapeToken(name)}`, !isNaming && NAMING_KEYWORDS.has(name));
    }
  };
  visit(document, "", false);
  return [
    ...describe(
      outside,
      "is outside the document, which is never followed: bundle it into one file",
    ),
    ...describe(dangling, "leads to nothing in the document, or to itself"),
  ];
}

function describe(found: ReadonlyMap<string, string>, message: string): readonly string[] {
  const named = [...found].slice(0, MAX_NAMED);
  const faults = named.map(
    ([reference, pointer]) => `${pointer}/$ref: ${quoteValue(reference)} ${message}`,
  );
  const more = found.size - named.length;
  return more > 0 ? [...faults, `and ${more} more references like these`] : faults;
}

/** The path items of a document by path, those of references included. */
export function pathItems(document: JsonRecord): readonly (readonly [string, JsonRecord])[] {
  const { paths } = document;
  if (!isRecord(paths)) return [];
  return Object.entries(paths)
    .filter(([path]) => path.startsWith("/"))
    .map(([path, item]) => [path, recordAt(item, document)] as const);
}
