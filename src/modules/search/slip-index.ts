/**
 * Finds the words that are few edits away from a word. A word that is at most k edits away has at
 * least one of its k + 1 parts unchanged, at most k places from where it was; so words are kept by
 * their parts, and only those that share one are compared.
 */

/** Words by their parts. */
export interface SlipIndex {
  add(word: string, number: number): void;
  /** The numbers of the words that are within so many edits; at most `most` are compared. */
  find(
    word: string,
    edits: 1 | 2,
    most: number,
    words: readonly string[],
  ): { readonly slips: readonly number[]; readonly compared: number };
}

/** Shorter words have parts that say nothing. */
const MIN_LENGTH = { 1: 3, 2: 6 } as const;
/** A large map that grows moves all that it has at once; of many each moves its own. */
const MAPS = 61;

/** Creates an index without words. */
export function createSlipIndex(): SlipIndex {
  const maps = Array.from({ length: MAPS }, () => new Map<number, number[]>());
  const mapOf = (key: number): Map<number, number[]> =>
    maps[Math.abs(key) % MAPS] as Map<number, number[]>;
  return {
    add: (word, number) => {
      for (const edits of [1, 2] as const) {
        if (word.length < MIN_LENGTH[edits]) continue;
        for (let part = 0; part <= edits; part += 1) {
          const start = startOf(part, word.length, edits);
          const key = keyOf(word, start, startOf(part + 1, word.length, edits), {
            length: word.length,
            part,
            edits,
          });
          const known = mapOf(key).get(key);
          if (known === undefined) mapOf(key).set(key, [number]);
          else known.push(number);
        }
      }
    },
    find: (word, edits, most, words) => {
      const compared = new Set<number>();
      const slips: number[] = [];
      for (const key of keysNear(word, edits)) {
        for (const number of mapOf(key).get(key) ?? []) {
          if (compared.has(number)) continue;
          if (compared.size >= most) return { slips, compared: compared.size };
          compared.add(number);
          if (isWithin(word, words[number] ?? "", edits)) slips.push(number);
        }
      }
      return { slips, compared: compared.size };
    },
  };
}

/** The keys of the parts that a word within so many edits may have unchanged. */
function* keysNear(word: string, edits: 1 | 2): Generator<number> {
  for (let length = word.length - edits; length <= word.length + edits; length += 1) {
    if (length < MIN_LENGTH[edits]) continue;
    for (let part = 0; part <= edits; part += 1) {
      const start = startOf(part, length, edits);
      const size = startOf(part + 1, length, edits) - start;
      for (let at = Math.max(0, start - edits); at <= start + edits; at += 1) {
        if (at + size <= word.length) {
          yield keyOf(word, at, at + size, { length, part, edits });
        }
      }
    }
  }
}

/** Parts are as long as one another, but for the rest of the division. */
function startOf(part: number, length: number, edits: number): number {
  return Math.floor((part * length) / (edits + 1));
}

interface Slot {
  readonly length: number;
  readonly part: number;
  readonly edits: number;
}

/** Different parts may have one key: what has it is compared letter by letter anyway. */
function keyOf(word: string, start: number, end: number, { length, part, edits }: Slot): number {
  let key = (length * 3 + part) * 3 + edits;
  for (let at = start; at < end; at += 1) {
    key = Math.imul(key ^ word.charCodeAt(at), 0x5bd1e995);
    key ^= key >>> 15;
  }
  return key | 0;
}

/** Tells whether so many insertions, deletions and substitutions turn one word into the other. */
export function isWithin(one: string, other: string, edits: number): boolean {
  return isRestWithin(one, 0, other, 0, edits);
}

/** Equal letters are passed over first, so that each of the few branches is short. */
function isRestWithin(one: string, i: number, other: string, j: number, edits: number): boolean {
  let at = i;
  let to = j;
  while (at < one.length && to < other.length && one.charCodeAt(at) === other.charCodeAt(to)) {
    at += 1;
    to += 1;
  }
  const difference = Math.abs(one.length - at - (other.length - to));
  if (difference > edits) return false;
  if (at === one.length || to === other.length) return true;
  if (edits === 0) return false;
  return (
    isRestWithin(one, at + 1, other, to + 1, edits - 1) ||
    isRestWithin(one, at + 1, other, to, edits - 1) ||
    isRestWithin(one, at, other, to + 1, edits - 1)
  );
}
