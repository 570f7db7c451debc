/**
 * References inside an OpenAPI document. Only what is in the document itself is ever looked at: a
 * reference to a file or a URL leads nowhere, and one that goes round in circles as well.
 */
import { escapeToken, unescapeToken } from "../base/dotted-key.ts";
import { isRecord, type JsonRecord, recordIn } from "../base/json-value.ts";

/** The target of a reference, and its place. */
interface Target {
  /** JSON Pointer, as its own name of the place. */
  readonly pointer: string;
  readonly value: unknown;
}

const MAX_STEPS = 32;

/** Follows a `$ref` of a document, and those that it leads to. */
export function resolveReference(reference: string, document: JsonRecord): Target | undefined {
  let next = reference;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const tokens = pointerTokens(next);
    if (tokens === undefined) return undefined;
    const value = memberAt(document, tokens);
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
  if (!reference.startsWith("#")) return undefined;
  let fragment: string;
  try {
    fragment = decodeURIComponent(reference.slice(1));
  } catch {
    return undefined;
  }
  if (fragment !== "" && !fragment.startsWith("/")) return undefined;
  return fragment.split("/").slice(1).map(unescapeToken);
}

function memberAt(document: JsonRecord, tokens: readonly string[]): unknown {
  let value: unknown = document;
  for (const token of tokens) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, token)) {
      return undefined;
    }
    value = Reflect.get(value, token);
  }
  return value;
}
