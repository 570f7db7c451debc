/**
 * The keys of a listing as one interval in the order of their UTF-8 octets, which is code point order, so that an
 * index can walk it from either end.
 */
import { checkBound } from "./entry-limits.ts";
import type { ListRange } from "./store.ts";

/** The keys from `from` up to, but excluding, `below`. */
interface KeyRange {
  /** The lowest string in the range. */
  readonly from: string;
  /** The lowest string above the range; undefined if it is unbounded. */
  readonly below: string | undefined;
  /** The most entries; Infinity for all. */
  readonly limit: number;
  readonly isReversed: boolean;
}

const MAX_CODE_POINT = 0x10ffff;

/** Returns the interval of a `ListRange`; throws if the range is invalid. */
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
  // The next string after a text is the text with NUL appended.
  return { from: higher(prefix, `${after}\0`), below: end, limit, isReversed };
}

/** Compares two keys by their UTF-8 octets. */
export function compareKeys(left: string, right: string): number {
  const length = Math.min(left.length, right.length);
  for (let index = 0; index < length; index += 1) {
    const difference = rankOf(left.charCodeAt(index)) - rankOf(right.charCodeAt(index));
    if (difference !== 0) return difference;
  }
  return left.length - right.length;
}

/** UTF-16 sorts surrogates below U+E000, though they encode code points above U+FFFF. */
function rankOf(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/** Returns the lowest string above every string with this prefix. */
function successorOf(prefix: string): string | undefined {
  const points = [...prefix].map((character) => character.codePointAt(0) ?? 0);
  while (points.at(-1) === MAX_CODE_POINT) points.pop();
  const last = points.pop();
  if (last === undefined) return undefined;
  // Surrogates are not characters, and have no UTF-8 form.
  return String.fromCodePoint(...points, last === 0xd7ff ? 0xe000 : last + 1);
}

function higher(left: string, right: string): string {
  return compareKeys(left, right) < 0 ? right : left;
}

function lower(left: string, right: string | undefined): string {
  return right !== undefined && compareKeys(right, left) < 0 ? right : left;
}
