/**
 * Reads the text of an OpenAPI document: JSON or YAML, of bounded size and depth, as plain JSON
 * values. What aliases share is written out, and there is an end to how much. Faults are words.
 */
import { isRecord, type JsonRecord } from "../base/json-value.ts";
import { reasonOf } from "../base/thrown.ts";

/** A document, or why the text is none. */
type ReadDocument =
  | { readonly kind: "document"; readonly document: JsonRecord }
  | { readonly kind: "fault"; readonly message: string };

/** Deeper documents would exhaust the stack of whoever walks them; real ones have 40 levels. */
const MAX_DEPTH = 200;
/** The largest documents in public use have about two million values. */
const MAX_VALUES = 8_000_000;
const MAX_ALIASES = 1000;

/** Reads a text; what is JSON is read as JSON, which is many times faster. */
export async function readDocument(text: string): Promise<ReadDocument> {
  const parsed = /^\s*\{/.test(text) ? parseJson(text) : await parseYaml(text);
  if (parsed.fault !== undefined) return fault(parsed.fault);
  try {
    const copy = copyPlain(parsed.value, { left: MAX_VALUES }, 0);
    return isRecord(copy)
      ? { kind: "document", document: copy }
      : fault("is no OpenAPI document: expected an object with the member openapi");
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
  const { parseDocument } = await import("yaml");
  try {
    const document = parseDocument(text, { merge: true, prettyErrors: true, logLevel: "error" });
    const [error] = document.errors;
    if (error !== undefined) return { fault: yamlFault(error) };
    return { value: document.toJS({ maxAliasCount: MAX_ALIASES }) };
  } catch (error) {
    // An alias to nothing, or aliases of aliases without end.
    return { fault: yamlFault(error) };
  }
}

function yamlFault(error: unknown): string {
  const [reason = ""] = reasonOf(error).split("\n", 1);
  if (/call stack/i.test(reason)) return `is nested deeper than ${MAX_DEPTH} levels`;
  return `is not YAML: ${reason.replace(/:$/, "")}`;
}

class ExcessError extends Error {}

function copyPlain(value: unknown, budget: { left: number }, depth: number): unknown {
  budget.left -= 1;
  if (budget.left < 0) throw new ExcessError(`has more than ${MAX_VALUES} values`);
  if (depth > MAX_DEPTH) throw new ExcessError(`is nested deeper than ${MAX_DEPTH} levels`);
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
