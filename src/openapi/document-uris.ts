/**
 * The URIs that a document and its schemas declare for themselves: `$self`, `$id`, `$anchor`.
 * References to these point into the document, so they are rewritten to JSON Pointers before any is
 * followed; nothing is retrieved.   OAS 3.2.0 §4.1.2, Appendix F
 */
import { atPointer, escapeToken, unescapeToken } from "../base/dotted-key.ts";
import { isRecord, type JsonRecord, recordIn } from "../base/json-value.ts";
import { decodePart } from "../base/percent-encoding.ts";

/** Keywords with data as their value, where `$ref` is an ordinary member. */
const DATA_KEYWORDS: ReadonlySet<string> = new Set([
  ...["example", "default", "enum", "const", "value", "dataValue"],
]);
/** Keywords with a map as their value, whose member names are not keywords. */
const NAMING_KEYWORDS: ReadonlySet<string> = new Set([
  ...["properties", "patternProperties", "$defs", "definitions", "schemas", "responses"],
  ...["parameters", "requestBodies", "headers", "securitySchemes", "links", "callbacks"],
  ...["pathItems", "paths", "webhooks", "content", "dependentSchemas", "examples"],
  ...["mediaTypes", "additionalOperations"],
]);

/** Returns true if the value of a keyword is data, which contains no references. */
export function holdsData(name: string, value: unknown): boolean {
  if (DATA_KEYWORDS.has(name) || name.startsWith("x-")) return true;
  return name === "examples" && Array.isArray(value);
}

/** Returns true if the value of a keyword is a map with free member names. */
export function isNamingKeyword(name: string): boolean {
  return NAMING_KEYWORDS.has(name);
}

/** The maximum length of a URI: every reference is resolved against a base. */
const MAX_URI_LENGTH = 2048;
/** The base of a document without `$self`; no real URI has this host. */
const DEFAULT_BASE = "https://openapi.invalid/";

/** Rewrites every reference to one of the document's own URIs to `#` and a JSON Pointer; other references stay. */
export function localizeReferences(document: JsonRecord): JsonRecord {
  const uris = new DocumentUris(document);
  return uris.areNone ? document : recordIn(uris.rewrite(document, uris.base, false));
}

class DocumentUris {
  /** The document's base URI, without a fragment. */
  readonly base: string;
  readonly #document: JsonRecord;
  /** JSON Pointers by absolute URI; an anchor's URI has a fragment. */
  readonly #pointers = new Map<string, string>();

  constructor(document: JsonRecord) {
    this.#document = document;
    const { $self } = document;
    this.base = resolveUri($self, DEFAULT_BASE)?.uri ?? DEFAULT_BASE;
    this.#pointers.set(this.base, "");
    this.#collect(document, { pointer: "", base: this.base, isNaming: false });
  }

  get areNone(): boolean {
    return this.#pointers.size === 1 && this.base === DEFAULT_BASE;
  }

  #collect(value: unknown, place: Place): void {
    const { pointer, isNaming } = place;
    if (Array.isArray(value)) {
      for (const [index, item] of value.entries()) {
        this.#collect(item, { ...place, pointer: `${pointer}/${index}`, isNaming: false });
      }
    }
    if (!isRecord(value)) return;
    const base = isNaming ? place.base : this.#name(value, place);
    for (const [name, member] of Object.entries(value)) {
      if (typeof member !== "object" || (!isNaming && holdsData(name, member))) continue;
      const inner = { base, isNaming: !isNaming && isNamingKeyword(name) };
      this.#collect(member, { ...inner, pointer: `${pointer}/${escapeToken(name)}` });
    }
  }

  /** Registers the URIs of a schema, and returns the base URI within it. The first schema with a URI keeps it. */
  #name(schema: JsonRecord, { pointer, base }: Place): string {
    const own = resolveUri(schema["$id"], base);
    const inner = own?.uri ?? base;
    const anchors = [own?.fragment, schema["$anchor"], schema["$dynamicAnchor"]];
    const names = [inner, ...anchors.filter(isAnchor).map((anchor) => `${inner}#${anchor}`)];
    for (const name of names) if (!this.#pointers.has(name)) this.#pointers.set(name, pointer);
    return inner;
  }

  /** Rewrites the references in a value; `base` is the base URI around it. */
  rewrite(value: unknown, base: string, isNaming: boolean): unknown {
    if (Array.isArray(value)) return value.map((item) => this.rewrite(item, base, false));
    if (!isRecord(value)) return value;
    const inner = isNaming ? base : (resolveUri(value["$id"], base)?.uri ?? base);
    return Object.fromEntries(
      Object.entries(value).map(([name, member]) => [
        name,
        isNaming ? this.rewrite(member, inner, false) : this.#rewriteMember(name, member, inner),
      ]),
    );
  }

  #rewriteMember(name: string, value: unknown, base: string): unknown {
    if (name === "$ref" && typeof value === "string") return this.#locate(value, base) ?? value;
    if (holdsData(name, value)) return value;
    if (name === "discriminator" && isRecord(value)) return this.#rewriteMapping(value, base);
    if (name === "security" && Array.isArray(value)) {
      return value.map((item) => (isRecord(item) ? this.#rewriteRequirement(item, base) : item));
    }
    return this.rewrite(value, base, isNamingKeyword(name));
  }

  /** A schema's name takes precedence over a URI.   OAS 3.2.0 §4.26.3 */
  #rewriteMapping(discriminator: JsonRecord, base: string): JsonRecord {
    const schemas = this.#components("schemas");
    const rewrite = (target: unknown): unknown =>
      typeof target !== "string" || Object.hasOwn(schemas, target)
        ? target
        : (this.#locate(target, base) ?? target);
    const { mapping, defaultMapping } = discriminator;
    const entries = Object.entries(recordIn(mapping)).map(([key, to]) => [key, rewrite(to)]);
    return {
      ...discriminator,
      ...(isRecord(mapping) ? { mapping: Object.fromEntries(entries) } : {}),
      ...(defaultMapping === undefined ? {} : { defaultMapping: rewrite(defaultMapping) }),
    };
  }

  /** Replaces the URIs of security schemes in a requirement by their names.   OAS 3.2.0 §4.30 */
  #rewriteRequirement(requirement: JsonRecord, base: string): JsonRecord {
    const schemes = this.#components("securitySchemes");
    const entries = Object.entries(requirement).map(([name, scopes]) => {
      if (Object.hasOwn(schemes, name)) return [name, scopes];
      const located = decodePart(this.#locate(name, base) ?? name) ?? name;
      const [, token] = /^#\/components\/securitySchemes\/([^/]+)$/.exec(located) ?? [];
      const known = token === undefined ? name : unescapeToken(token);
      return [Object.hasOwn(schemes, known) ? known : name, scopes];
    });
    return Object.fromEntries(entries);
  }

  #components(kind: string): JsonRecord {
    return recordIn(recordIn(this.#document["components"])[kind]);
  }

  /**
   * Returns `#` and the target's pointer; undefined for a reference that leads out of the document
   * or needs no change.
   */
  #locate(reference: string, base: string): string | undefined {
    const target = resolveUri(reference, base);
    if (target === undefined || (target.uri === this.base && reference.startsWith("#/"))) {
      return undefined;
    }
    const { uri, fragment } = target;
    if (isAnchor(fragment)) {
      const pointer = this.#pointers.get(`${uri}#${fragment}`);
      return pointer === undefined ? undefined : `#${encodeURI(pointer)}`;
    }
    const resource = this.#pointers.get(uri);
    const inner = decodePart(fragment);
    if (resource === undefined || inner === undefined) return undefined;
    // Checked, because many documents write pointers from the document's root instead of the schema's.
    const isThere = atPointer(resource + inner, this.#document) !== undefined;
    return isThere ? `#${encodeURI(resource)}${fragment}` : undefined;
  }
}

interface Place {
  readonly pointer: string;
  readonly base: string;
  readonly isNaming: boolean;
}

interface ResolvedUri {
  readonly uri: string;
  /** The fragment as written; "" if there is none. */
  readonly fragment: string;
}

function resolveUri(reference: unknown, base: string): ResolvedUri | undefined {
  if (typeof reference !== "string" || reference.length > MAX_URI_LENGTH) return undefined;
  const [written = "", fragment = ""] = reference.split("#", 2);
  if (written === "") return { uri: base, fragment };
  if (!URL.canParse(written, base)) return undefined;
  return { uri: new URL(written, base).href, fragment };
}

function isAnchor(fragment: unknown): fragment is string {
  return typeof fragment === "string" && fragment !== "" && !fragment.startsWith("/");
}
