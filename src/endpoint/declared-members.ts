/**
 * The members that an input schema declares, found among the octets of a body. V8 keeps each name of a
 * member it meets, and the form of each object: a name that nobody has sent before costs it 1.2 µs when
 * it is parsed, and as much again when its object is looked at.   AGTP-API §13.2
 */

import { type JsonRecord, recordIn } from "../base/json-value.ts";
import { addUnder } from "../base/listed.ts";
import type { JsonSchema } from "../schema/json-schema.ts";

/** The members of an envelope around parameters. */
export const ENVELOPE_KEYS: ReadonlySet<string> = new Set([
  ...["method", "task_id", "session_id", "parameters", "context"],
]);

/** Names that mean something in a body whatever its schema says. */
const RESERVED = [...ENVELOPE_KEYS, "endpoint", "name", "action"];

/** Keywords beside which the name of a member that is not declared makes no difference to a verdict. */
const INDIFFERENT: ReadonlySet<string> = new Set([
  ...["type", "properties", "required", "additionalProperties", "$defs", "definitions"],
  ...["$id", "$schema", "$comment", "title", "description", "examples", "default", "deprecated"],
]);

/** The first character of stand-ins; a schema that declares such a name has none. */
export const STAND_IN_MARK = "\u007f";

const MAX_KEPT_OCTETS = 512;

/**
 * The last body of a kind that a schema was asked about, by its octets: to parse one of a hundred and to judge
 * it takes 1 µs, to see that it says the same again a tenth.
 */
class LastBody {
  #octets: Buffer | undefined;
  #length = -1;
  /** How its octets were read. */
  tag: string | undefined;
  value: unknown;

  says(octets: Uint8Array, length: number): boolean {
    const kept = this.#octets;
    if (kept === undefined || length !== this.#length) return false;
    for (let at = 0; at < length; at += 1) if (octets[at] !== kept[at]) return false;
    return true;
  }

  /** A longer one is not kept. */
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

/** The names of one schema; their tables are made for the first body that is looked at. */
export class DeclaredMembers {
  readonly #schema: JsonSchema;
  #names: ReadonlySet<string> | undefined;
  #table: ReadonlyMap<number, readonly Uint8Array[]> | undefined;
  /** One with stand-ins, and its value, which nobody changes. */
  readonly lastReplaced: LastBody = new LastBody();
  /** One whose members are all declared, and its value: it comes again beside a query with a field that is not. */
  readonly lastClean: LastBody = new LastBody();
  /** The value of one beside so many fields of a query that are not declared; nobody changes it. */
  lastBeside: BesideQuery | undefined;

  private constructor(schema: JsonSchema) {
    this.#schema = schema;
  }

  /** Undefined: what the schema says depends on the names of others. */
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

  /** As `has`, of a name without escapes in the octets of a body. */
  hasOctets(bytes: Uint8Array, from: number, to: number): boolean {
    this.#table ??= tableOf(this.#known);
    const alike = this.#table.get(keyOf(bytes, from, to));
    if (alike === undefined) return false;
    for (const octets of alike) if (spells(octets, bytes, from, to)) return true;
    return false;
  }

  /** The first member of an object that is not one of them. */
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

/** Its length, and its first and last octet. */
function keyOf(bytes: Uint8Array, from: number, to: number): number {
  if (from === to) return 0;
  return ((to - from) << 16) | (bytes[from]! << 8) | bytes[to - 1]!;
}

/** Tells whether the octets of a range are these. */
export function spells(octets: Uint8Array, bytes: Uint8Array, from: number, to: number): boolean {
  if (to - from !== octets.length) return false;
  for (let at = 0; at < octets.length; at += 1) if (bytes[from + at] !== octets[at]) return false;
  return true;
}
