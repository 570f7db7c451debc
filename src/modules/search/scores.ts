/**
 * What the words of a question find in an index: for each entry, how much of the question it answers.
 * Words themselves are always looked up; synonyms, beginnings and slips as far as the work for one
 * question goes, which is the same however the question is worded and whatever the index has.
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
import { fieldWeight, frequencyOf, type SearchIndex } from "./search-index.ts";

/** The work that one question may make; each index shares it. */
export interface SearchWork {
  /** Rows of words that are not in the question themselves. */
  inexactRows: number;
  /** Known words that unknown ones are compared with. */
  comparisons: number;
}

/** What a question may cost, beside the rows of its own words. */
export function questionWork(): SearchWork {
  return { inexactRows: 300_000, comparisons: 6_000 };
}

/** What the words found, by the number of the entry. */
export interface Scores {
  /** The entries that have any of the words. */
  readonly found: readonly number[];
  /** In thousandths. */
  confidenceOf(entry: number): number;
  scoreOf(entry: number): number;
}

/** A synonym beside the word itself makes nothing a better answer. */
const INEXACT_BOOST = 0.05;
/** A longer word is a worse answer the longer it is. */
const LONGER_BOOST = 0.375;
const MIN_FUZZY_LENGTH = 4;
const LONG_WORD_LENGTH = 8;
const MAX_SLIPS = 32;
/** Rows between two points where others may have their turn. */
const STEP = 4096;

/** A word of the index, as what it is taken for. */
interface Meaning {
  readonly word: string;
  readonly likeness: number;
  readonly boost: number;
}

/** Adds up what the words find. */
export function* scoreWords(
  index: SearchIndex,
  words: readonly QuestionWord[],
  work: SearchWork,
): Paced<Scores> {
  const scores = new Accumulator(index);
  // The order must not matter: what tells most comes first.
  const sorted = words.toSorted(
    (one, other) => other.weight - one.weight || (one.word < other.word ? -1 : 1),
  );
  for (const [place, asked] of sorted.entries()) {
    const allowance = Math.floor(work.inexactRows / (sorted.length - place));
    scores.begin(asked.weight);
    yield* scores.add({ word: asked.word, likeness: 1, boost: 1 });
    let left = allowance;
    for (const meaning of meaningsOf(index, asked, work)) {
      const rows = frequencyOf(index, meaning.word);
      if (rows === 0 || rows > left) continue;
      left -= rows;
      yield* scores.add(meaning);
    }
    work.inexactRows -= allowance - left;
    yield;
  }
  return scores;
}

/** What a word may stand for beside itself, the most likely first. */
function* meaningsOf(
  { vocabulary }: SearchIndex,
  { word, synonyms }: QuestionWord,
  work: SearchWork,
): Generator<Meaning> {
  const isBeginning = word.length >= MIN_BEGINNING_LENGTH;
  for (const synonym of synonyms) {
    if (isBeginning && synonym.startsWith(word)) continue;
    yield { word: synonym, likeness: SYNONYM, boost: INEXACT_BOOST };
  }
  const isKnown = vocabulary.numberOf(word) !== undefined;
  if (!isKnown && word.length >= MIN_FUZZY_LENGTH && work.comparisons > 0) {
    const edits = word.length < LONG_WORD_LENGTH ? 1 : 2;
    const { slips, compared } = vocabulary.slipsOf(word, edits, work.comparisons);
    work.comparisons -= compared;
    for (const slip of slips.slice(0, MAX_SLIPS)) {
      if (slip === word || slip.startsWith(word) || synonyms.has(slip)) continue;
      yield { word: slip, likeness: SLIP, boost: INEXACT_BOOST };
    }
  }
  if (!isBeginning) return;
  for (const longer of vocabulary.longerThan(word)) {
    const boost =
      (LONGER_BOOST * longer.length) / (longer.length + 0.3 * (longer.length - word.length));
    yield { word: longer, likeness: beginningOf(word, longer), boost };
  }
}

/** By entry, in arrays: a question may find all of them. */
class Accumulator implements Scores {
  readonly found: number[] = [];
  readonly #index: SearchIndex;
  readonly #answered: Float64Array;
  readonly #scores: Float64Array;
  /** How many words of the question an entry has something of. */
  readonly #wordCounts: Uint16Array;
  /** The best that the present word was found as. */
  readonly #best: Float64Array;
  /** Which word that was. */
  readonly #bestOf: Uint16Array;
  #place = 0;
  #weight = 0;
  #total = 0;

  constructor(index: SearchIndex) {
    const { length } = index.entries;
    this.#index = index;
    this.#answered = new Float64Array(length);
    this.#scores = new Float64Array(length);
    this.#wordCounts = new Uint16Array(length);
    this.#best = new Float64Array(length);
    this.#bestOf = new Uint16Array(length);
  }

  /** The next word of the question. */
  begin(weight: number): void {
    this.#place += 1;
    this.#weight = weight;
    this.#total += weight;
  }

  /** Adds what a word of the index is worth to the entries that have it. */
  *add({ word, likeness, boost }: Meaning): Paced<void> {
    const { vocabulary, postings, entries } = this.#index;
    const number = vocabulary.numberOf(word);
    if (number === undefined) return;
    const start = postings.startOf(number);
    const end = postings.startOf(number + 1);
    const rarity = Math.log1p((entries.length - (end - start) + 0.5) / (end - start + 0.5));
    for (let from = start; from < end; from += STEP) {
      this.#addRows(from, Math.min(end, from + STEP), likeness, boost * rarity);
      yield;
    }
  }

  #addRows(start: number, end: number, likeness: number, factor: number): void {
    const { entries, fields, impacts } = this.#index.postings;
    for (let row = start; row < end; row += 1) {
      const entry = entries[row] ?? 0;
      const worth = likeness * fieldWeight(fields[row] ?? 0);
      if (this.#bestOf[entry] !== this.#place) {
        if (this.#wordCounts[entry] === 0) this.found.push(entry);
        this.#wordCounts[entry] = (this.#wordCounts[entry] ?? 0) + 1;
        this.#bestOf[entry] = this.#place;
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

  confidenceOf(entry: number): number {
    if (this.#total === 0) return 0;
    return Math.round(((this.#answered[entry] ?? 0) / this.#total) * CONFIDENCE_STEPS);
  }

  scoreOf(entry: number): number {
    const prominence = this.#index.prominences[entry] ?? 1;
    // Sums of the same numbers in another order differ in their last digits.
    const score = (this.#scores[entry] ?? 0) * (this.#wordCounts[entry] ?? 0) * prominence;
    return Math.round(score * 1e6) / 1e6;
  }
}
