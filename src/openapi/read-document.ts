/**
 * Reads the text of an OpenAPI document: JSON or YAML, of bounded size and depth, as plain JSON
 * values. What aliases share is written out, and there is an end to how much. Faults are words. With
 * it the check whether a document can be imported, and the way of its references.
 */
import { escapeToken, memberAt, unescapeToken } from "../base/dotted-key.ts";
import { isRecord, type JsonRecord, quoteValue, recordIn } from "../base/json-value.ts";
import { decodePart } from "../base/percent-encoding.ts";
import { reasonOf } from "../base/thrown.ts";
import { holdsData, isNamingKeyword, localizeReferences } from "./document-uris.ts";

type ReadDocument =
  | { readonly kind: "document"; readonly document: JsonRecord }
  | { readonly kind: "fault"; readonly message: string };

/** Deeper documents would exhaust the stack of whoever walks them; real ones have 40 levels. */
const MAX_DEPTH = 200;
const TOO_DEEP = `is nested deeper than ${MAX_DEPTH} levels`;
/** The largest documents in public use have about two million values. */
const MAX_VALUES = 8_000_000;
const MAX_ALIASES = 1000;

/** Reads a text; what is JSON is read as JSON, which is many times faster. */
export async function readDocument(text: string): Promise<ReadDocument> {
  const parsed = /^\s*\{/.test(text) ? parseJson(text) : await parseYaml(text);
  if (parsed.fault !== undefined) return fault(parsed.fault);
  try {
    const copy = copyPlain(parsed.value, { left: MAX_VALUES }, 0);
    if (!isRecord(copy)) {
      return fault("is no OpenAPI document: expected an object with the member openapi");
    }
    // In 3.0 neither a document nor a schema has a URI.
    const document = hasOldSchemas(copy) ? copy : localizeReferences(copy);
    return { kind: "document", document };
  } catch (error) {
    if (error instanceof ExcessError) return fault(error.message);
    throw error;
  }
}

type Parsed =
  | { readonly value: unknown; readonly fault?: undefined }
  | { readonly value?: undefined; readonly fault: string };

function fault(message: string): ReadDocument {
  return { kind: "fault", message };
}

function parseJson(text: string): Parsed {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { fault: `is not JSON: ${reasonOf(error).split("\n", 1)[0]}` };
  }
}

async function parseYaml(text: string): Promise<Parsed> {
  const { Lexer, parseDocument } = await import("yaml");
  try {
    if (opensTooMuch(new Lexer().lex(text))) return { fault: TOO_DEEP };
    const document = parseDocument(text, { merge: true, prettyErrors: true, logLevel: "error" });
    const [error] = document.errors;
    if (error !== undefined) return { fault: yamlFault(error) };
    return { value: document.toJS({ maxAliasCount: MAX_ALIASES }) };
  } catch (error) {
    // An alias to nothing, or aliases of aliases without end.
    return { fault: yamlFault(error) };
  }
}

/** A document that is nested without end takes the parser minutes, and its lexer a moment. */
function opensTooMuch(lexemes: Iterable<string>): boolean {
  let brackets = 0;
  let indicators = 0;
  for (const lexeme of lexemes) {
    if (lexeme === "[" || lexeme === "{") brackets += 1;
    else if (lexeme === "]" || lexeme === "}") brackets -= 1;
    else if (lexeme === "-" || lexeme === "?") indicators += 1;
    else if (lexeme === "\n" || lexeme === "\r\n") indicators = 0;
    if (brackets > MAX_DEPTH || indicators > MAX_DEPTH) return true;
  }
  return false;
}

function yamlFault(error: unknown): string {
  const [reason = ""] = reasonOf(error).split("\n", 1);
  if (/call stack/i.test(reason)) return TOO_DEEP;
  return `is not YAML: ${reason.replace(/:$/, "")}`;
}

class ExcessError extends Error {}

function copyPlain(value: unknown, budget: { left: number }, depth: number): unknown {
  budget.left -= 1;
  if (budget.left < 0) throw new ExcessError(`has more than ${MAX_VALUES} values`);
  if (depth > MAX_DEPTH) throw new ExcessError(TOO_DEEP);
  if (Array.isArray(value)) return value.map((item) => copyPlain(item, budget, depth + 1));
  if (typeof value === "object" && value !== null) {
    // fromEntries defines members, so that one named __proto__ stays a member.
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, copyPlain(member, budget, depth + 1)]),
    );
  }
  // `.inf`, `.nan` and what YAML tags may make have no place in JSON.
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  return typeof value === "string" || typeof value === "boolean" ? value : null;
}

const MAX_NAMED = 10;
/**
 * Decides whether a document is one that can be imported: OpenAPI 3.0, 3.1 or 3.2, with operations, and
 * whole in itself. Another version, and a reference out of the document, are refused in words:
 * nothing that a document names is ever opened.
 */
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
    return `is Swagger ${version}, expected OpenAPI 3.0 to 3.2: convert the document to OpenAPI 3`;
  }
  if (openapi === undefined) return "is no OpenAPI document: it has no member openapi";
  const text = typeof openapi === "number" ? openapi.toFixed(1) : openapi;
  if (typeof text === "string" && /^3\.[012](?:\.|$)/.test(text)) return undefined;
  return `is OpenAPI ${quoteValue(openapi)}, expected 3.0, 3.1 or 3.2`;
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
      if (!isNaming && holdsData(name, member)) continue;
      visit(member, `${pointer}/${escapeToken(name)}`, !isNaming && isNamingKeyword(name));
    }
  };
  visit(document, "", false);
  return [
    ...describeReferences(
      outside,
      "is outside the document, which is never followed: bundle it into one file",
    ),
    ...describeReferences(dangling, "leads to nothing in the document, or to itself"),
  ];
}

function describeReferences(
  found: ReadonlyMap<string, string>,
  message: string,
): readonly string[] {
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

interface Target {
  /** JSON Pointer, as its own name of the place. */
  readonly pointer: string;
  readonly value: unknown;
}

const MAX_STEPS = 32;

/**
 * References inside an OpenAPI document. Only what is in the document itself is ever looked at: a
 * reference to a file or a URL leads nowhere, and one that goes round in circles as well.
 */
export function resolveReference(reference: string, document: JsonRecord): Target | undefined {
  let next = reference;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const tokens = pointerTokens(next);
    if (tokens === undefined) return undefined;
    const value = tokens.reduce<unknown>(memberAt, document);
    if (value === undefined) return undefined;
    const further = isRecord(value) ? value["$ref"] : undefined;
    // A schema may say more beside its reference, so it is a place of its own.
    if (typeof further !== "string" || Object.keys(value as object).length > 1) {
      return { pointer: tokens.map((token) => `/${escapeToken(token)}`).join(""), value };
    }
    next = further;
  }
  return undefined;
}

/** A value, or what it refers to; undefined when that is nothing. */
export function dereference(value: unknown, document: JsonRecord, step = 0): unknown {
  if (!isRecord(value) || typeof value["$ref"] !== "string") return value;
  const target = resolveReference(value["$ref"], document);
  if (target === undefined || step > MAX_STEPS) return undefined;
  const found = dereference(target.value, document, step + 1);
  // Members of a path item or a response beside its reference win.
  const { $ref: _reference, ...own } = value;
  return isRecord(found) ? { ...found, ...own } : found;
}

/** Like `dereference`, for what has to be an object; anything else is an empty one. */
export function recordAt(value: unknown, document: JsonRecord): JsonRecord {
  const found = dereference(value, document);
  return recordIn(found);
}

function pointerTokens(reference: string): readonly string[] | undefined {
  const fragment = reference.startsWith("#") ? decodePart(reference.slice(1)) : undefined;
  if (fragment === undefined || (fragment !== "" && !fragment.startsWith("/"))) return undefined;
  return fragment.split("/").slice(1).map(unescapeToken);
}
