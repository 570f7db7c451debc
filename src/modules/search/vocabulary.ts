/**
 * The distinct words of an index, with look-ups of longer words and likely typos. Their cost depends on the query, and
 * hardly on the number of words.
 */

import { firstIndex } from "../../base/first-index.ts";
import { addUnder } from "../../base/listed.ts";
import { type Paced, sortPaced } from "../../base/paced.ts";
import { SpreadMap } from "../../base/spread-map.ts";

/** Longer words to consider, as a multiple of the wanted number. */
const LOOKED_AT = 4;
const STEP = 512;
/** Sorts after every character of a word. */
const LAST = "\uffff";

/** Words by number, in the order of insertion. */
export class Vocabulary {
  readonly words: string[] = [];
  readonly #numbers = new SpreadMap<number>();
  /** The words in sorted order once complete, with their numbers and lengths. */
  #sorted: readonly string[] = [];
  #sortedNumbers = new Uint32Array();
  #sortedLengths = new Uint8Array();
  readonly #slips = new SlipIndex();

  numberOf(word: string): number | undefined {
    return this.#numbers.get(word);
  }

  /** Adds a word and returns its number; only before `complete`. */
  add(word: string): number {
    const known = this.#numbers.get(word);
    if (known !== undefined) return known;
    const number = this.words.length;
    this.#numbers.set(word, number);
    this.words.push(word);
    return number;
  }

  /** Builds the look-ups of longer words and typos. */
  *complete(): Paced<void> {
    for (const [number, word] of this.words.entries()) {
      this.#slips.add(word, number);
      if (number % STEP === 0) yield;
    }
    this.#sorted = yield* sortPaced(this.words, (one, other) => (one < other ? -1 : 1));
    this.#sortedNumbers = new Uint32Array(this.#sorted.length);
    this.#sortedLengths = new Uint8Array(this.#sorted.length);
    for (const [place, word] of this.#sorted.entries()) {
      this.#sortedNumbers[place] = this.#numbers.get(word) ?? 0;
      this.#sortedLengths[place] = Math.min(word.length, MAX_LENGTH);
      if (place % STEP === 0) yield;
    }
  }

  /** Returns the numbers of up to `most` longer words that start with this one, the shortest first. */
  longerThan(beginning: string, most: number): readonly number[] {
    const first = placeOf(this.#sorted, beginning);
    const start = this.#sorted[first] === beginning ? first + 1 : first;
    const end = Math.min(start + LOOKED_AT * most, placeOf(this.#sorted, beginning + LAST));
    if (start >= end) return [];
    const places = shortestFirst(this.#sortedLengths, start, end);
    return places.slice(0, most).map((place) => this.#sortedNumbers[place] ?? 0);
  }

  /** Returns the numbers of words within the edit distance, and the number of words compared, at most `most`. */
  slipsOf(
    word: string,
    edits: 1 | 2,
    most: number,
  ): { readonly slips: readonly number[]; readonly compared: number } {
    return this.#slips.find(word, edits, most, this.words);
  }
}

/** Longer words count as equally long; texts have none. */
const MAX_LENGTH = 63;

/** Orders positions by word length; equal lengths keep their order. */
function shortestFirst(lengths: Uint8Array, start: number, end: number): readonly number[] {
  const byLength: number[][] = [];
  for (let place = start; place < end; place += 1) {
    const length = lengths[place] ?? 0;
    const known = byLength[length];
    if (known === undefined) byLength[length] = [place];
    else known.push(place);
  }
  return byLength.flat();
}

/** Returns the position of the first word that is not smaller. */
function placeOf(sorted: readonly string[], word: string): number {
  return firstIndex(sorted.length, (place) => (sorted[place] ?? "") >= word);
}

/** Minimal word length per edit distance, since parts of shorter words match too many. */
const MIN_LENGTH = { 1: 3, 2: 6 } as const;
/** Number of maps: growing one rehashes only its own entries, and a single large map everything at once. */
const MAPS = 61;

/** Finds likely typos by the unchanged parts of words. */
export class SlipIndex {
  readonly #maps = Array.from({ length: MAPS }, () => new Map<number, number[]>());

  add(word: string, number: number): void {
    const { length } = word;
    for (const edits of [1, 2] as const) {
      if (length < MIN_LENGTH[edits]) continue;
      for (let part = 0; part <= edits; part += 1) {
        const start = startOf(part, length, edits);
        const end = startOf(part + 1, length, edits);
        const key = keyOf(word, start, end, { length, part, edits });
        addUnder(this.#mapOf(key), key, number);
      }
    }
  }

  /** Returns the numbers of words within the edit distance; compares at most `most`. */
  find(
    word: string,
    edits: 1 | 2,
    most: number,
    words: readonly string[],
  ): { readonly slips: readonly number[]; readonly compared: number } {
    const compared = new Set<number>();
    const slips: number[] = [];
    for (const key of keysNear(word, edits)) {
      for (const number of this.#mapOf(key).get(key) ?? []) {
        if (compared.has(number)) continue;
        if (compared.size >= most) return { slips, compared: compared.size };
        compared.add(number);
        if (isWithinEdits(word, words[number] ?? "", edits)) slips.push(number);
      }
    }
    return { slips, compared: compared.size };
  }

  #mapOf(key: number): Map<number, number[]> {
    return this.#maps[Math.abs(key) % MAPS] as Map<number, number[]>;
  }
}

/** Yields the keys of parts that a word within this edit distance may have unchanged. */
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

/** Returns the start of a part; parts are equally long, except for rounding. */
function startOf(part: number, length: number, edits: number): number {
  return Math.floor((part * length) / (edits + 1));
}

interface Slot {
  readonly length: number;
  readonly part: number;
  readonly edits: number;
}

/** Hashes a part; a collision is harmless, since candidates are compared letter by letter. */
function keyOf(word: string, start: number, end: number, { length, part, edits }: Slot): number {
  let key = (length * 3 + part) * 3 + edits;
  for (let at = start; at < end; at += 1) {
    key = Math.imul(key ^ word.charCodeAt(at), 0x5bd1e995);
    key ^= key >>> 15;
  }
  return key | 0;
}

/** True if the words are within this edit distance of insertions, deletions and substitutions. */
export function isWithinEdits(one: string, other: string, edits: number): boolean {
  return isRestWithin(one, 0, other, 0, edits);
}

/** Skips equal letters first, so that each of the few branches is short. */
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
