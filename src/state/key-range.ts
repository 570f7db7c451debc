/**
 * The keys that a listing covers, as one interval in the order of their UTF-8 octets, so that an
 * index can walk it from either end. That order is the order of code points.
 */
import { checkBound } from "./entry-limits.ts";
import type { ListRange } from "./store.ts";

/** The keys from `from` on, as far as `below`. */
interface KeyRange {
  /** The lowest text that belongs to the range. */
  readonly from: string;
  /** The lowest text above the range; undefined when there is none. */
  readonly below: string | undefined;
  /** How many entries; Infinity for all. */
  readonly limit: number;
  readonly isReversed: boolean;
}

const MAX_CODE_POINT = 0x10ffff;

/** The interval that a `ListRange` describes; throws for a range that cannot be meant. */
export function compileRange(range: ListRange = {}): KeyRange {
  const { prefix = "", after, limit = Number.POSITIVE_INFINITY, isReversed = false } = range;
  checkBound("prefix", prefix);
  if (after !== undefined) checkBound("after", after);
  if (!(limit >= 0 && (Number.isSafeInteger(limit) || limit === Number.POSITIVE_INFINITY))) {
    throw new RangeError(`the limit must be a whole number, is ${limit}`);
  }
  const end = successorOf(prefix);
  if (after === undefined) return { from: prefix, below: end, limit, isReversed };
  if (isReversed) return { from: prefix, below: lower(after, end), limit, isReversed };
  // Nothing lies between a text and the same text with NUL behind it.
  return { from: higher(prefix, `${after}\0`), below: end, limit, isReversed };
}

/** Negative, zero or positive as the octets of `left` come before, equal or follow `right`'s. */
export function compareKeys(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const difference = rankOf(left.charCodeAt(index)) - rankOf(right.charCodeAt(index));
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** UTF-16 has the surrogates below U+E000; what they stand for lies above U+FFFF. */
function rankOf(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/** The lowest text above every text with this prefix. */
function successorOf(prefix: string): string | undefined {
  const points = [...prefix].map((character) => character.codePointAt(0) ?? 0);
  while (points.at(-1) === MAX_CODE_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  // The surrogates are no characters, and UTF-8 has no octets for them.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}

function higher(left: string, right: string): string {
  return compareKeys(left, right) < 0 ? right : left;
}

function lower(left: string, right: string | undefined): string {
  return right !== undefined && compareKeys(right, left) < 0 ? right : left;
}
