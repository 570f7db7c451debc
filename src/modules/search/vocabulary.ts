/**
 * The distinct words of an index, and which of them begin with a word or are a likely slip of it. Both
 * are looked up, never searched for: what they cost depends on what is asked, and hardly on how many
 * words there are.
 */
import type { Paced } from "../../base/paced.ts";
import { createSlipIndex, type SlipIndex } from "./slip-index.ts";

/** Of one word; those that are hardly longer come first. */
const MAX_LONGER = 256;
/** Beginnings that more words have than are looked at are taken from the first of them. */
const MAX_LOOKED_AT = 1024;
const STEP = 512;

/** Words by number, in the order in which they came. */
export class Vocabulary {
  readonly words: string[] = [];
  readonly #numbers = new Map<string, number>();
  /** All words in their order, once it is complete. */
  #sorted: readonly string[] = [];
  #slips: SlipIndex = createSlipIndex();

  numberOf(word: string): number | undefined {
    return this.#numbers.get(word);
  }

  /** Before it is complete. */
  add(word: string): number {
    const known = this.#numbers.get(word);
    if (known !== undefined) return known;
    const number = this.words.length;
    this.#numbers.set(word, number);
    this.words.push(word);
    return number;
  }

  /** Makes it ready to be asked for more than words themselves. */
  *complete(): Paced<void> {
    for (const [number, word] of this.words.entries()) {
      this.#slips.add(word, number);
      if (number % STEP === 0) yield;
    }
    this.#sorted = yield* sortWords(this.words);
  }

  /** The words that begin with this one and are longer, the shortest first. */
  longerThan(beginning: string): readonly string[] {
    const found: string[] = [];
    for (let at = placeOf(this.#sorted, beginning); found.length < MAX_LOOKED_AT; at += 1) {
      const word = this.#sorted[at];
      if (word === undefined || !word.startsWith(beginning)) break;
      if (word !== beginning) found.push(word);
    }
    // Among words of one length the order stays.
    return found.sort((one, other) => one.length - other.length).slice(0, MAX_LONGER);
  }

  /** Words so few edits away; at most so many are compared, and how many were is said. */
  slipsOf(
    word: string,
    edits: 1 | 2,
    most: number,
  ): { slips: readonly string[]; compared: number } {
    const { slips, compared } = this.#slips.find(word, edits, most, this.words);
    return { slips: slips.map((number) => this.words[number] ?? ""), compared };
  }
}

/** Merge sort by runs, which may be interrupted. */
function* sortWords(words: readonly string[]): Paced<readonly string[]> {
  let runs: string[][] = [];
  for (let start = 0; start < words.length; start += STEP) {
    runs.push(words.slice(start, start + STEP).sort());
    yield;
  }
  while (runs.length > 1) {
    const merged: string[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      merged.push(yield* mergeRuns(runs[at] ?? [], runs[at + 1] ?? []));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}

function* mergeRuns(one: readonly string[], other: readonly string[]): Paced<string[]> {
  const merged: string[] = [];
  let at = 0;
  for (const word of one) {
    for (let next = other[at]; next !== undefined && next < word; next = other[at]) {
      merged.push(next);
      at += 1;
    }
    merged.push(word);
    if (merged.length % STEP === 0) yield;
  }
  for (; at < other.length; at += 1) merged.push(other[at] ?? "");
  return merged;
}

/** The place of the first word that is not before this one. */
function placeOf(sorted: readonly string[], word: string): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? "") < word) low = middle + 1;
    else high = middle;
  }
  return low;
}
