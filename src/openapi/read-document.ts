/**
 * Reads an OpenAPI document, JSON or YAML, of bounded size and depth, into plain JSON values.
 * Aliases are expanded within a bound. Faults are returned in words. Also checks whether a document
 * can be imported.
 */
import { isRecord, type JsonRecord, quoteValue } from "../base/json-value.ts";
import { reasonOf } from "../base/thrown.ts";
import { localizeReferences } from "./document-uris.ts";
import { References, recordAt } from "./references.ts";

type ReadDocument =
  | { readonly kind: "document"; readonly document: JsonRecord }
  | { readonly kind: "fault"; readonly message: string };

/** A deeper document would overflow the stack of later walks; real ones have up to 40 levels. */
const MAX_DEPTH = 200;
const TOO_DEEP = `is nested deeper than ${MAX_DEPTH} levels`;
/** The bound on values; the largest public documents have about two million. */
const MAX_VALUES = 8_000_000;
const MAX_ALIASES = 1000;

/** Reads a text; JSON is tried first, because its parser is many times faster. */
export async function readDocument(text: string): Promise<ReadDocument> {
  const parsed = /^\s*\{/.test(text) ? parseJson(text) : await parseYaml(text);
  if (parsed.fault !== undefined) return fault(parsed.fault);
  try {
    const copy = copyPlain(parsed.value, { left: MAX_VALUES }, 0);
    if (!isRecord(copy)) {
      return fault("is no OpenAPI document: expected an object with the member openapi");
    }
    // In 3.0 neither documents nor schemas declare URIs.
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
    // For instance an alias without an anchor, or too many nested aliases.
    return { fault: yamlFault(error) };
  }
}

/** Checks nesting with the lexer, in a moment: the parser takes minutes for a document nested without end. */
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
    // Why fromEntries: it defines members, so one named __proto__ stays an ordinary member.
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [name, copyPlain(member, budget, depth + 1)]),
    );
  }
  // JSON has no `.inf`, no `.nan` and no values of YAML tags.
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  return typeof value === "string" || typeof value === "boolean" ? value : null;
}

/**
 * Checks that a document can be imported: OpenAPI 3.0, 3.1 or 3.2, with operations. Other versions,
 * and references out of the document, are refused in words: nothing that a document names is ever
 * opened.
 */
export function checkDocument(
  document: JsonRecord,
  references: References = new References(document),
): readonly string[] {
  const version = versionFault(document);
  if (version !== undefined) return [version];
  const { info, paths } = document;
  const faults: string[] = [];
  if (!isRecord(info)) faults.push("info is missing, expected an object with title and version");
  if (!isRecord(paths) || Object.keys(paths).length === 0) {
    faults.push("has no paths, so there is nothing to import");
  }
  return [...faults, ...references.describeOutside()];
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

/** Returns true if a document uses the schema dialect of OpenAPI 3.0. */
export function hasOldSchemas({ openapi }: JsonRecord): boolean {
  return /^3(?:\.0|$)/.test(String(openapi));
}

/** The path items of a document by path, references resolved. */
export function pathItems(document: JsonRecord): readonly (readonly [string, JsonRecord])[] {
  const { paths } = document;
  if (!isRecord(paths)) return [];
  return Object.entries(paths)
    .filter(([path]) => path.startsWith("/"))
    .map(([path, item]) => [path, recordAt(item, document)] as const);
}
