/**
 * Scores the entries of an index for a question's words. The words themselves are always looked up; synonyms, longer
 * words and typos only within a work budget, which depends neither on the wording nor on the size of the index.
 */
import type { Paced } from "../../base/paced.ts";
import {
  beginningOf,
  CONFIDENCE_STEPS,
  MIN_BEGINNING_LENGTH,
  type QuestionWord,
  SLIP,
  SYNONYM,
} from "./confidence.ts";
import { fieldWeight, type SearchIndex } from "./search-index.ts";

/** The remaining work of one question, shared by its indexes. */
interface SearchWork {
  /** Rows of words that are not themselves in the question. */
  inexactRows: number;
  /** Comparisons of unknown words with known ones. */
  comparisons: number;
}

/** The work budget of a question, beyond the rows of its own words. */
export function questionWork(): SearchWork {
  return { inexactRows: 150_000, comparisons: 6_000 };
}

/** Low, since a synonym in addition to the word itself does not make a better match. */
const INEXACT_BOOST = 0.05;
/** The boost falls with the number of additional characters. */
const LONGER_BOOST = 0.375;
const MIN_FUZZY_LENGTH = 4;
const LONG_WORD_LENGTH = 8;
const MAX_SLIPS = 32;
/** Maximal longer words per word of the question, and for a question as a whole. */
const MAX_LONGER = 256;
const MAX_LONGER_TOGETHER = 2048;
/** Rows between two pauses; a word costs as much as some rows. */
const STEP = 4096;
const ROWS_OF_WORD = 16;

/** A word of the index that a question's word may stand for. */
interface Meaning {
  readonly word: number;
  readonly likeness: number;
  readonly boost: number;
}

/** Scores the words of a question. */
export function* scoringWords(
  index: SearchIndex,
  words: readonly QuestionWord[],
  work: SearchWork,
): Paced<Scores> {
  const scores = new Scores(index);
  // Sorted, so that the order in the question does not matter; the heaviest first.
  const sorted = words.toSorted(
    (one, other) => other.weight - one.weight || (one.word < other.word ? -1 : 1),
  );
  const longer = Math.min(MAX_LONGER, Math.ceil(MAX_LONGER_TOGETHER / sorted.length));
  for (const [place, asked] of sorted.entries()) {
    const allowance = Math.floor(work.inexactRows / (sorted.length - place));
    scores.begin(asked.weight);
    const itself = index.vocabulary.numberOf(asked.word);
    const exact = itself === undefined ? [] : [{ word: itself, likeness: 1, boost: 1 }];
    yield* scores.add(exact, Number.POSITIVE_INFINITY);
    const left = yield* scores.add(meaningsOf(index, asked, { work, longer }), allowance);
    work.inexactRows -= allowance - left;
    yield;
  }
  return scores;
}

/** Returns the other words that a word may stand for, the most likely first. */
function meaningsOf(
  { vocabulary }: SearchIndex,
  { word, synonyms }: QuestionWord,
  { work, longer: most }: { readonly work: SearchWork; readonly longer: number },
): readonly Meaning[] {
  const meanings: Meaning[] = [];
  const isBeginning = word.length >= MIN_BEGINNING_LENGTH;
  for (const synonym of synonyms) {
    if (isBeginning && synonym.startsWith(word)) continue;
    const number = vocabulary.numberOf(synonym);
    if (number === undefined) continue;
    meanings.push({ word: number, likeness: SYNONYM, boost: INEXACT_BOOST });
  }
  const isKnown = vocabulary.numberOf(word) !== undefined;
  if (!isKnown && word.length >= MIN_FUZZY_LENGTH && work.comparisons > 0) {
    const edits = word.length < LONG_WORD_LENGTH ? 1 : 2;
    const { slips, compared } = vocabulary.slipsOf(word, edits, work.comparisons);
    work.comparisons -= compared;
    for (const number of slips.slice(0, MAX_SLIPS)) {
      const slip = vocabulary.words[number] ?? "";
      if (slip === word || slip.startsWith(word) || synonyms.has(slip)) continue;
      meanings.push({ word: number, likeness: SLIP, boost: INEXACT_BOOST });
    }
  }
  if (!isBeginning) return meanings;
  for (const number of vocabulary.longerThan(word, most)) {
    const longer = vocabulary.words[number] ?? "";
    const boost =
      (LONGER_BOOST * longer.length) / (longer.length + 0.3 * (longer.length - word.length));
    meanings.push({ word: number, likeness: beginningOf(word, longer), boost });
  }
  return meanings;
}

/** Scores by entry number, in arrays, since a question may match every entry. */
export class Scores {
  readonly #found: Uint32Array;
  #foundCount = 0;
  readonly #index: SearchIndex;
  readonly #answered: Float64Array;
  readonly #scores: Float64Array;
  /** The number of the question's words that an entry matches. */
  readonly #wordCounts: Uint16Array;
  /** The best match of the current word in each entry. */
  readonly #best: Float64Array;
  /** The word that `#best` is for. */
  readonly #bestOf: Uint16Array;
  #place = 0;
  #weight = 0;
  #total = 0;
  /** Work since the last pause. */
  #done = 0;

  constructor(index: SearchIndex) {
    const { length } = index.entries;
    this.#index = index;
    this.#found = new Uint32Array(length);
    this.#answered = new Float64Array(length);
    this.#scores = new Float64Array(length);
    this.#wordCounts = new Uint16Array(length);
    this.#best = new Float64Array(length);
    this.#bestOf = new Uint16Array(length);
  }

  /** The entries that match any of the words. */
  get found(): Uint32Array {
    return this.#found.subarray(0, this.#foundCount);
  }

  /** Begins the next word of the question. */
  begin(weight: number): void {
    this.#place += 1;
    this.#weight = weight;
    this.#total += weight;
  }

  /**
   * Adds the worth of index words to the entries that contain them. Skips a word with more rows than the allowance;
   * returns the remaining allowance.
   */
  *add(meanings: readonly Meaning[], allowance: number): Paced<number> {
    const { postings, entries } = this.#index;
    let left = allowance;
    for (const { word, likeness, boost } of meanings) {
      const start = postings.startOf(word);
      const end = postings.startOf(word + 1);
      const rows = end - start;
      this.#done += ROWS_OF_WORD;
      if (rows > left) continue;
      left -= rows;
      const rarity = Math.log1p((entries.length - rows + 0.5) / (rows + 0.5));
      for (let from = start; from < end; ) {
        const to = Math.min(end, from + Math.max(1, STEP - this.#done));
        this.#addRows(from, to, likeness, boost * rarity);
        this.#done += to - from;
        from = to;
        if (this.#done < STEP) continue;
        this.#done = 0;
        yield;
      }
    }
    return left;
  }

  #addRows(start: number, end: number, likeness: number, factor: number): void {
    const { entries, fields, impacts } = this.#index.postings;
    const place = this.#place;
    for (let row = start; row < end; row += 1) {
      const entry = entries[row] ?? 0;
      const worth = likeness * fieldWeight(fields[row] ?? 0);
      if (this.#bestOf[entry] !== place) {
        if (this.#wordCounts[entry] === 0) {
          this.#found[this.#foundCount] = entry;
          this.#foundCount += 1;
        }
        this.#wordCounts[entry] = (this.#wordCounts[entry] ?? 0) + 1;
        this.#bestOf[entry] = place;
        this.#best[entry] = 0;
      }
      const better = worth - (this.#best[entry] ?? 0);
      if (better > 0) {
        this.#best[entry] = worth;
        this.#answered[entry] = (this.#answered[entry] ?? 0) + this.#weight * better;
      }
      this.#scores[entry] = (this.#scores[entry] ?? 0) + factor * (impacts[row] ?? 0);
    }
  }

  /** Returns the confidence in thousandths. */
  confidenceOf(entry: number): number {
    if (this.#total === 0) return 0;
    return Math.round(((this.#answered[entry] ?? 0) / this.#total) * CONFIDENCE_STEPS);
  }

  scoreOf(entry: number): number {
    const prominence = this.#index.prominences[entry] ?? 1;
    // Rounded, since sums of the same numbers in another order differ in their last digits.
    const score = (this.#scores[entry] ?? 0) * (this.#wordCounts[entry] ?? 0) * prominence;
    return Math.round(score * 1e6) / 1e6;
  }
}
