/**
 * Counts what a text of JSON holds before it is parsed: its size says little of what that costs. A million
 * octets of one text are parsed in a millisecond, of brackets or of names that differ in a hundred.
 */
import {
  CLOSE_BRACE,
  CLOSE_BRACKET,
  COLON,
  COMMA,
  endOfText,
  OPEN_BRACE,
  OPEN_BRACKET,
  QUOTE,
} from "./json-octets.ts";
import { MAX_DEPTH } from "./nesting.ts";

/** How much may be in a text; of brackets, members and items, those no deeper than a level count. */
export interface JsonBounds {
  readonly depth: number;
  /** Of all objects together: what is made of each may cost a microsecond or more. */
  readonly members: number;
  /** Names of members that differ, of which V8 keeps a table; as many as there are members unless it says. */
  readonly names?: number;
  /** Members and items together; most items are numbers or short texts, and cost less. */
  readonly values: number;
  /** Of lists and objects: what is made of one takes up to fifty times as many octets as there are; no bound unless it says. */
  readonly containers?: number;
  /** Deeper values are not counted; the level of `depth` unless it says. */
  readonly cutDepth?: number;
}

/** The bound that a text exceeds. */
export type JsonExcess = "depth" | "members" | "names" | "values" | "containers";

interface JsonScan {
  readonly excess: JsonExcess | undefined;
  /** By turns where the inside of a bracket of the last level that counts begins, and where it ends. */
  readonly cuts: readonly number[];
}

/** Bounds of a request: what its schema and its record make of it costs more than parsing. */
export const REQUEST_BOUNDS: JsonBounds = { depth: MAX_DEPTH, members: 10_000, values: 50_000 };
/** Bounds of an answer of another server: whatever it says is parsed in two tenths of a second or so. */
export const ANSWER_BOUNDS: JsonBounds = {
  ...{ depth: 512, members: 1_000_000, names: 50_000, values: 1_000_000 },
};

const SHALLOW: JsonScan = { excess: undefined, cuts: [] };

/**
 * Finds the bound that octets are beyond. One pass over them; what is no JSON may be misjudged, and the parser
 * refuses it anyway.
 */
export function scanJson(bytes: Uint8Array, bounds: JsonBounds): JsonScan {
  const { depth: maxDepth, members: maxMembers, values: maxValues, cutDepth = maxDepth } = bounds;
  if (bytes.length <= 2 * maxDepth) return SHALLOW;
  const names = bounds.names === undefined ? undefined : new DifferentNames();
  const maxNames = bounds.names ?? maxMembers;
  const maxContainers = bounds.containers ?? Number.POSITIVE_INFINITY;
  let nameAt = 0;
  let nameEnd = 0;
  const cuts: number[] = [];
  let depth = 0;
  let deepest = 0;
  let members = 0;
  let values = 0;
  let containers = 0;
  for (let index = 0; index < bytes.length; index += 1) {
    const byte = bytes[index];
    if (byte === QUOTE) {
      nameAt = index + 1;
      index = endOfText(bytes, nameAt);
      nameEnd = index;
      continue;
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth += 1;
      if (depth > deepest) deepest = depth;
      // Anything deeper is refused or cut off before it is parsed.
      if (depth <= cutDepth) values += 1;
      containers += 1;
      if (depth === cutDepth) cuts.push(index + 1);
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (depth === cutDepth) cuts.push(index);
      depth -= 1;
    } else if (byte === COLON && depth <= cutDepth) {
      members += 1;
      if (names !== undefined && names.add(bytes, nameAt, nameEnd) > maxNames)
        return { excess: "names", cuts };
    } else if (byte === COMMA && depth <= cutDepth) values += 1;
    else continue;
    if (members > maxMembers) return { excess: "members", cuts };
    if (values > maxValues) return { excess: "values", cuts };
    if (containers > maxContainers) return { excess: "containers", cuts };
  }
  return { excess: deepest > maxDepth ? "depth" : undefined, cuts };
}

/** So many names are told apart, nearly. */
const NAME_BITS = 2 ** 19;
/** Nobody outside knows which names are taken for the same. */
const SEED = Math.trunc(Math.random() * 2 ** 31);
const PRIME = 0x01000193;

/** Counts names that differ by their hashes: a few of many are taken for the same, which is near enough. */
class DifferentNames {
  readonly #seen = new Uint8Array(NAME_BITS / 8);
  #count = 0;

  /** Takes in the name that stands from one octet to another; answers with how many differ by now. */
  add(bytes: Uint8Array, from: number, end: number): number {
    let hash = SEED;
    for (let at = from; at < end; at += 1) hash = Math.imul(hash ^ bytes[at]!, PRIME);
    const bit = (hash ^ (hash >>> 15)) & (NAME_BITS - 1);
    const mask = 1 << (bit & 7);
    const octet = this.#seen[bit >> 3]!;
    if ((octet & mask) === 0) {
      this.#seen[bit >> 3] = octet | mask;
      this.#count += 1;
    }
    return this.#count;
  }
}

/** Says in words which bound octets exceed; undefined: none. Short ones exceed none. */
export function jsonExcess(bytes: Uint8Array, bounds: JsonBounds): string | undefined {
  return bytes.length > LONG_OCTETS
    ? excessInWords(scanJson(bytes, bounds).excess, bounds)
    : undefined;
}

/** A bound that was exceeded, in words. */
export function excessInWords(
  excess: JsonExcess | undefined,
  { depth, members, names = members, values, containers }: JsonBounds,
): string | undefined {
  switch (excess) {
    case undefined:
      return undefined;
    case "depth":
      return `is nested deeper than ${depth} levels`;
    case "members":
      return `has more than ${members} members`;
    case "names":
      return `has more than ${names} names of members`;
    case "values":
      return `has more than ${values} values`;
    case "containers":
      return `has more than ${containers} lists and objects`;
  }
}

/** A shorter text costs little, whatever is in it. */
export const LONG_OCTETS = 16_384;
