/**
 * The references of a document. They are resolved within the document only: a reference to a file
 * or a URL, or a circular one, leads nowhere. Parts that need such a reference are found.
 */
import { escapeToken, memberAt, unescapeToken } from "../base/dotted-key.ts";
import { isRecord, type JsonRecord, quoteValue, recordIn } from "../base/json-value.ts";
import { decodePart } from "../base/percent-encoding.ts";
import { holdsData, isNamingKeyword } from "./document-uris.ts";

interface Target {
  /** The JSON Pointer that identifies the place. */
  readonly pointer: string;
  readonly value: unknown;
}

const MAX_STEPS = 32;
const MAX_NAMED = 10;
const OUTSIDE = "is outside the document, which is never followed: bundle it into one file";
const TO_NOTHING = "leads to nothing in the document, or to itself";

/** The target of a reference; undefined if there is none. */
export function resolveReference(reference: string, document: JsonRecord): Target | undefined {
  let next = reference;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const tokens = pointerTokens(next);
    if (tokens === undefined) return undefined;
    const value = tokens.reduce<unknown>(memberAt, document);
    if (value === undefined) return undefined;
    const further = isRecord(value) ? value["$ref"] : undefined;
    // A schema with keywords beside its reference is a target of its own.
    if (typeof further !== "string" || Object.keys(value as object).length > 1) {
      return { pointer: pointerOf(tokens), value };
    }
    next = further;
  }
  return undefined;
}

/** A value, or the target of its reference; undefined if there is none. */
export function dereference(value: unknown, document: JsonRecord, step = 0): unknown {
  if (!isRecord(value) || typeof value["$ref"] !== "string") return value;
  const target = resolveReference(value["$ref"], document);
  if (target === undefined || step > MAX_STEPS) return undefined;
  const found = dereference(target.value, document, step + 1);
  // In a path item or a response, members beside the reference take precedence.
  const { $ref: _reference, ...own } = value;
  return isRecord(found) ? { ...found, ...own } : found;
}

/** Like `dereference`, but for objects; anything else becomes an empty one. */
export function recordAt(value: unknown, document: JsonRecord): JsonRecord {
  const found = dereference(value, document);
  return recordIn(found);
}

function pointerOf(tokens: readonly string[]): string {
  return tokens.map((token) => `/${escapeToken(token)}`).join("");
}

function pointerTokens(reference: string): readonly string[] | undefined {
  const fragment = reference.startsWith("#") ? decodePart(reference.slice(1)) : undefined;
  if (fragment === undefined || (fragment !== "" && !fragment.startsWith("/"))) return undefined;
  return fragment.split("/").slice(1).map(unescapeToken);
}

/** The references of a document that lead out of it, or to nothing. */
export class References {
  /** External references, each with one of its places. */
  readonly #outside = new Map<string, string>();
  readonly #dangling = new Map<string, string>();
  /** The dangling reference that a referenced value needs, by the value's JSON Pointer. */
  readonly #broken = new Map<string, string>();
  /** The JSON Pointers of targets, by reference. */
  readonly #targets = new Map<string, string | undefined>();
  readonly #document: JsonRecord;

  constructor(document: JsonRecord) {
    this.#document = document;
    const referring = new Map<string, string[]>();
    const found: { readonly from: string; readonly reference: string }[] = [];
    visitReferences(document, (reference, path) => {
      const target = this.#targetOf(reference);
      const from = pointerOf(path);
      if (!reference.startsWith("#")) {
        this.#outside.set(reference, from);
      } else if (target === undefined) {
        this.#dangling.set(reference, from);
        found.push({ from, reference });
      } else {
        const places = referring.get(target);
        if (places === undefined) referring.set(target, [from]);
        else places.push(from);
      }
    });
    for (let next = found.pop(); next !== undefined; next = found.pop()) {
      const { reference } = next;
      for (const pointer of pointersTo(next.from)) {
        const places = referring.get(pointer);
        if (places === undefined || this.#broken.has(pointer)) continue;
        this.#broken.set(pointer, reference);
        for (const from of places) found.push({ from, reference });
      }
    }
  }

  /** Describes the references to other documents, which are never opened. */
  describeOutside(): readonly string[] {
    return describe(this.#outside, OUTSIDE);
  }

  /** Describes the dangling references. */
  describeDangling(): readonly string[] {
    return describe(this.#dangling, TO_NOTHING);
  }

  /** The reason a part of the document is incomplete; undefined if everything it needs is there. */
  findFault(part: unknown): string | undefined {
    if (this.#dangling.size === 0) return undefined;
    let missing: string | undefined;
    visitReferences(part, (reference) => {
      const pointer = this.#targetOf(reference);
      missing ??= pointer === undefined ? reference : this.#broken.get(pointer);
    });
    return missing && `the reference ${quoteValue(missing)} ${TO_NOTHING}`;
  }

  #targetOf(reference: string): string | undefined {
    if (!this.#targets.has(reference)) {
      this.#targets.set(reference, resolveReference(reference, this.#document)?.pointer);
    }
    return this.#targets.get(reference);
  }
}

/** Visits every reference, with the path of the object that contains it. */
function visitReferences(
  value: unknown,
  visit: (reference: string, path: readonly string[]) => void,
): void {
  const path: string[] = [];
  const within = (member: unknown, name: string, isNaming: boolean): void => {
    if (typeof member !== "object" || member === null) return;
    path.push(name);
    walk(member, isNaming);
    path.pop();
  };
  const walk = (one: unknown, isNaming: boolean): void => {
    if (Array.isArray(one)) {
      for (const [index, item] of one.entries()) within(item, `${index}`, false);
    }
    if (!isRecord(one)) return;
    const reference = one["$ref"];
    if (typeof reference === "string" && !isNaming) visit(reference, path);
    for (const [name, member] of Object.entries(one)) {
      if (!isNaming && holdsData(name, member)) continue;
      within(member, name, !isNaming && isNamingKeyword(name));
    }
  };
  walk(value, false);
}

/** The pointer of a value and of each value that contains it. */
function pointersTo(pointer: string): readonly string[] {
  const tokens = pointer.split("/");
  return tokens.map((_, index) => tokens.slice(0, index + 1).join("/"));
}

function describe(found: ReadonlyMap<string, string>, message: string): readonly string[] {
  const named = [...found].slice(0, MAX_NAMED);
  const faults = named.map(([reference, from]) => {
    return `${from}/$ref: ${quoteValue(reference)} ${message}`;
  });
  const more = found.size - named.length;
  return more > 0 ? [...faults, `and ${more} more references like these`] : faults;
}
