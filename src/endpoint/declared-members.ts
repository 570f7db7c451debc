/**
 * The members that an input schema declares, looked up by the octets of a body. V8 keeps every
 * member name it parses and the shape of each object: a name that was never sent before costs 1.2
 * µs to parse, and as much again when its object is checked.   AGTP-API §13.2
 */

import { type JsonRecord, recordIn } from "../base/json-value.ts";
import { addUnder } from "../base/listed.ts";
import type { JsonSchema } from "../schema/json-schema.ts";

/** The members of an envelope around parameters. */
export const ENVELOPE_KEYS: ReadonlySet<string> = new Set([
  ...["method", "task_id", "session_id", "parameters", "context"],
]);

/** Names with a meaning in any body, whatever its schema declares. */
const RESERVED = [...ENVELOPE_KEYS, "endpoint", "name", "action"];

/** Keywords that make a verdict independent of the names of undeclared members. */
const INDIFFERENT: ReadonlySet<string> = new Set([
  ...["type", "properties", "required", "additionalProperties", "$defs", "definitions"],
  ...["$id", "$schema", "$comment", "title", "description", "examples", "default", "deprecated"],
]);

/** The first character of stand-ins; a schema that declares such a name gets no stand-ins. */
export const STAND_IN_MARK = "\u007f";

const MAX_KEPT_OCTETS = 512;

/**
 * The last body of a kind, by its octets. Parsing and judging a body of a hundred octets takes 1
 * µs, and recognising a repeated one a tenth of that.
 */
class LastBody {
  #octets: Buffer | undefined;
  #length = -1;
  /** The encoding of its octets. */
  tag: string | undefined;
  value: unknown;

  says(octets: Uint8Array, length: number): boolean {
    const kept = this.#octets;
    if (kept === undefined || length !== this.#length) return false;
    for (let at = 0; at < length; at += 1) if (octets[at] !== kept[at]) return false;
    return true;
  }

  /** Keeps a body, unless it is too long. */
  keep(octets: Uint8Array, length: number, tag?: string, value?: unknown): void {
    if (length > MAX_KEPT_OCTETS) return;
    this.#octets ??= Buffer.allocUnsafeSlow(MAX_KEPT_OCTETS);
    for (let at = 0; at < length; at += 1) this.#octets[at] = octets[at]!;
    this.#length = length;
    this.tag = tag;
    this.value = value;
  }
}

interface BesideQuery {
  readonly body: JsonRecord;
  readonly count: number;
  readonly value: JsonRecord;
}

/** The declared names of one schema; their tables are built for the first checked body. */
export class DeclaredMembers {
  readonly #schema: JsonSchema;
  #names: ReadonlySet<string> | undefined;
  #table: ReadonlyMap<number, readonly Uint8Array[]> | undefined;
  /** The last body with stand-ins, and its value, which must not be changed. */
  readonly lastReplaced: LastBody = new LastBody();
  /**
   * The last body with declared members only, and its value, for a repetition with an undeclared
   * query field.
   */
  readonly lastClean: LastBody = new LastBody();
  /** The last body merged with a number of undeclared query fields; its value must not be changed. */
  lastBeside: BesideQuery | undefined;

  private constructor(schema: JsonSchema) {
    this.#schema = schema;
  }

  /** Returns the declared members; undefined if the schema's verdict depends on other names. */
  static of(schema: JsonSchema): DeclaredMembers | undefined {
    const { additionalProperties = true, properties } = schema;
    if (typeof additionalProperties !== "boolean") return undefined;
    for (const keyword in schema) if (!INDIFFERENT.has(keyword)) return undefined;
    for (const name in recordIn(properties)) if (name.startsWith(STAND_IN_MARK)) return undefined;
    return new DeclaredMembers(schema);
  }

  has(name: string): boolean {
    return this.#known.has(name);
  }

  /** Like `has`, for an unescaped name in the octets of a body. */
  hasOctets(bytes: Uint8Array, from: number, to: number): boolean {
    this.#table ??= tableOf(this.#known);
    const alike = this.#table.get(keyOf(bytes, from, to));
    if (alike === undefined) return false;
    for (const octets of alike) if (spells(octets, bytes, from, to)) return true;
    return false;
  }

  /** Returns the first undeclared member of an object. */
  firstBeyond(value: JsonRecord): string | undefined {
    for (const name in value) if (!this.#known.has(name)) return name;
    return undefined;
  }

  get #known(): ReadonlySet<string> {
    const { properties } = this.#schema;
    this.#names ??= new Set([...Object.keys(recordIn(properties)), ...RESERVED]);
    return this.#names;
  }
}

function tableOf(names: ReadonlySet<string>): ReadonlyMap<number, readonly Uint8Array[]> {
  const table = new Map<number, Uint8Array[]>();
  for (const text of names) {
    const octets = Buffer.from(text);
    addUnder(table, keyOf(octets, 0, octets.length), octets);
  }
  return table;
}

/** Builds a key of the length, and the first and last octet. */
function keyOf(bytes: Uint8Array, from: number, to: number): number {
  if (from === to) return 0;
  return ((to - from) << 16) | (bytes[from]! << 8) | bytes[to - 1]!;
}

/** Tells whether a range has exactly these octets. */
export function spells(octets: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from !== octets.length) return false;
  for (let at = 0; at < octets.length; at += 1) if (bytes[from + at] !== octets[at]) return false;
  return true;
}
