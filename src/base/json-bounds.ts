/**
 * Counts the content of a JSON text before it is parsed, since its size says little about its cost:
 * a million octets of a single string take a millisecond, of brackets or of distinct names a
 * hundred.
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

/** The bounds of a JSON text; values deeper than a level are not counted. */
export interface JsonBounds {
  readonly depth: number;
  /** The members of all objects, each of which may later cost a microsecond or more. */
  readonly members: number;
  /** Distinct member names, which V8 keeps in a table; `members` by default. */
  readonly names?: number;
  /** Members and items together; most items are numbers or short texts and cost less. */
  readonly values: number;
  /** Lists and objects, which take up to fifty times their octets in memory; unlimited by default. */
  readonly containers?: number;
  /** The level below which values are not counted; `depth` by default. */
  readonly cutDepth?: number;
}

/** The bound that a text exceeds. */
export type JsonExcess = "depth" | "members" | "names" | "values" | "containers";

interface JsonScan {
  readonly excess: JsonExcess | undefined;
  /** The start and end offsets of the content of brackets at the cut level, alternating. */
  readonly cuts: readonly number[];
}

/** The bounds of a request, whose schema check and record cost more than parsing. */
export const REQUEST_BOUNDS: JsonBounds = { depth: MAX_DEPTH, members: 10_000, values: 50_000 };
/** The bounds of another server's answer, which is then parsed in at most some two tenths of a second. */
export const ANSWER_BOUNDS: JsonBounds = {
  ...{ depth: 512, members: 1_000_000, names: 50_000, values: 1_000_000 },
};

const SHALLOW: JsonScan = { excess: undefined, cuts: [] };

/** Finds the exceeded bound in one pass. Invalid JSON may be misjudged, but the parser refuses it anyway. */
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
      // Deeper values are refused or cut off before parsing.
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

/** The number of bits of the filter, which bounds the names told apart. */
const NAME_BITS = 2 ** 19;
/** Random, so that nobody can choose names that collide. */
const SEED = Math.trunc(Math.random() * 2 ** 31);
const PRIME = 0x01000193;

/** Counts distinct names by their hashes; a few of many collide, which is accurate enough. */
class DifferentNames {
  readonly #seen = new Uint8Array(NAME_BITS / 8);
  #count = 0;

  /** Adds the name between two offsets; returns the number of distinct names so far. */
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

/** Describes the exceeded bound of a JSON text; undefined without one, as for any short text. */
export function jsonExcess(bytes: Uint8Array, bounds: JsonBounds): string | undefined {
  return bytes.length > LONG_OCTETS
    ? excessInWords(scanJson(bytes, bounds).excess, bounds)
    : undefined;
}

/** Describes an exceeded bound. */
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

/** The length up to which a text is cheap, whatever its content. */
export const LONG_OCTETS = 16_384;
