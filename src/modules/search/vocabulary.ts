/**
 * The distinct words of an index, and which of them begin with a word or are a likely slip of it. Both
 * are looked up, never searched for: what they cost depends on what is asked, and hardly on how many
 * words there are.
 */
import { type Paced, sortPaced } from "../../base/paced.ts";
import { SpreadMap } from "../../base/spread-map.ts";
import { createSlipIndex, type SlipIndex } from "./slip-index.ts";

/** Words with one beginning that are looked at, as a multiple of those that are wanted. */
const LOOKED_AT = 4;
const STEP = 512;
/** After every character of a word. */
const LAST = "\uffff";

/** Words by number, in the order in which they came. */
export class Vocabulary {
  readonly words: string[] = [];
  readonly #numbers = new SpreadMap<number>();
  /** All words in their order, once it is complete, and by it their numbers and lengths. */
  #sorted: readonly string[] = [];
  #sortedNumbers = new Uint32Array();
  #sortedLengths = new Uint8Array();
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
    this.#sorted = yield* sortPaced(this.words, (one, other) => (one < other ? -1 : 1));
    this.#sortedNumbers = new Uint32Array(this.#sorted.length);
    this.#sortedLengths = new Uint8Array(this.#sorted.length);
    for (const [place, word] of this.#sorted.entries()) {
      this.#sortedNumbers[place] = this.#numbers.get(word) ?? 0;
      this.#sortedLengths[place] = Math.min(word.length, MAX_LENGTH);
      if (place % STEP === 0) yield;
    }
  }

  /** The numbers of so many words that begin with this one and are longer, the shortest first. */
  longerThan(beginning: string, most: number): readonly number[] {
    const first = placeOf(this.#sorted, beginning);
    const start = this.#sorted[first] === beginning ? first + 1 : first;
    const end = Math.min(start + LOOKED_AT * most, placeOf(this.#sorted, beginning + LAST));
    if (start >= end) return [];
    const places = shortestFirst(this.#sortedLengths, start, end);
    return places.slice(0, most).map((place) => this.#sortedNumbers[place] ?? 0);
  }

  /** The numbers of words so few edits away; how many were compared is said, at most so many. */
  slipsOf(
    word: string,
    edits: 1 | 2,
    most: number,
  ): { readonly slips: readonly number[]; readonly compared: number } {
    return this.#slips.find(word, edits, most, this.words);
  }
}

/** Longer words than texts are read for are not told apart by their length. */
const MAX_LENGTH = 63;

/** The places from start to end by length; those of one length stay in their order. */
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
