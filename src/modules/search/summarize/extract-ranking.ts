/**
 * Ranks sentences by the words that each shares with the others, its position in the source, and its share of the
 * focus. Each sentence is counted once, and none is compared with every other.   AGTP "SUMMARIZE"
 */

import { firstIndex } from "../../../base/first-index.ts";
import type { Paced } from "../../../base/paced.ts";
import { wordsOf } from "../words.ts";

interface Sentence {
  readonly text: string;
  /** Source number, from 0. */
  readonly source: number;
  /** Position in the source, from 0. */
  readonly position: number;
}

/** A sentence with its score. */
export interface RankedSentence extends Sentence {
  /** Position among all sentences. */
  readonly index: number;
  readonly score: number;
  readonly terms: readonly number[];
}

/** The sentences for a summary. */
export interface RankedSentences {
  /** Sentences that are short enough, best first. */
  readonly fitting: readonly RankedSentence[];
  /** The best sentence of any length. */
  readonly best: RankedSentence | undefined;
}

/** Maximal number of candidates; a summary takes fewer. */
const MAX_CANDIDATES = 256;
/** Sentences between two pauses. */
const SLICE = 128;
const CENTRAL_SHARE = 0.8;
const FOCUS_WEIGHT = 2;
/** Number of sentences from which on a word that most of them have gets no weight. */
const MANY = 8;

/** Collects sentences, and ranks them at the end. */
export class Ranking {
  readonly #sentences: Sentence[] = [];
  readonly #terms: (readonly number[])[] = [];
  readonly #ids = new Map<string, number>();
  /** The number of sentences with each term. */
  readonly #counts: number[] = [];
  readonly #focus: ReadonlySet<number>;
  #focused = 0;

  constructor(focus: string) {
    this.#focus = new Set(this.#idsOf(focus));
  }

  get size(): number {
    return this.#sentences.length;
  }

  /** The number of sentences about the focus. */
  get focused(): number {
    return this.#focused;
  }

  add(sentence: Sentence): void {
    const ids = this.#idsOf(sentence.text);
    for (const id of ids) this.#counts[id] = (this.#counts[id] ?? 0) + 1;
    if (ids.some((id) => this.#focus.has(id))) this.#focused += 1;
    this.#sentences.push(sentence);
    this.#terms.push(ids);
  }

  /** Ranks the sentences in paced steps; a sentence longer than `maxLength` does not fit. */
  *rank(maxLength: number): Paced<RankedSentences> {
    const weights = this.#counts.map((count) => this.#weightOf(count));
    const central = new Float64Array(this.size);
    let highest = 0;
    for (const [index, terms] of this.#terms.entries()) {
      central[index] = centralityOf(terms, weights);
      highest = Math.max(highest, central[index] ?? 0);
      if (index % SLICE === SLICE - 1) yield;
    }
    const fitting: RankedSentence[] = [];
    let best: RankedSentence | undefined;
    for (const [index, sentence] of this.#sentences.entries()) {
      const terms = this.#terms[index] ?? [];
      const share = highest === 0 ? 0 : (central[index] ?? 0) / highest;
      const score = this.#scoreOf(share, sentence, terms);
      const ranked = { ...sentence, index, score, terms };
      if (best === undefined || score > best.score) best = ranked;
      if (sentence.text.length <= maxLength) insert(fitting, ranked);
      if (index % SLICE === SLICE - 1) yield;
    }
    return { fitting, best };
  }

  /** The share of all sentences' content that the chosen ones cover, from 0 to 1. */
  coverageOf(chosen: readonly RankedSentence[]): number {
    if (this.size === 0) return 0;
    if (chosen.length === this.size) return 1;
    let all = 0;
    for (const count of this.#counts) all += count;
    let covered = 0;
    const terms = new Set(chosen.flatMap((sentence) => sentence.terms));
    for (const id of terms) covered += this.#counts[id] ?? 0;
    return all === 0 ? chosen.length / this.size : covered / all;
  }

  #idsOf(text: string): readonly number[] {
    return Array.from(termsOf(text), (term) => {
      const known = this.#ids.get(term);
      if (known !== undefined) return known;
      const id = this.#ids.size;
      this.#ids.set(term, id);
      this.#counts[id] = 0;
      return id;
    });
  }

  #weightOf(count: number): number {
    return this.size >= MANY && count > this.size / 2 ? 0 : Math.log1p(count);
  }

  #scoreOf(share: number, { position }: Sentence, terms: readonly number[]): number {
    const early = 1 / Math.sqrt(1 + position);
    const score = CENTRAL_SHARE * share + (1 - CENTRAL_SHARE) * early;
    if (this.#focus.size === 0) return score;
    const matched = terms.filter((id) => this.#focus.has(id)).length;
    return score + (FOCUS_WEIGHT * matched) / this.#focus.size;
  }
}

/** Normalizes by length, since long sentences have more words. */
function centralityOf(terms: readonly number[], weights: readonly number[]): number {
  let sum = 0;
  for (const id of terms) sum += weights[id] ?? 0;
  return sum / Math.sqrt(4 + terms.length);
}

/** Inserts by score, best first; the earlier of equal ones comes first. */
function insert(best: RankedSentence[], ranked: RankedSentence): void {
  const isFull = best.length >= MAX_CANDIDATES;
  if (isFull && ranked.score <= (best.at(-1)?.score ?? 0)) return;
  if (isFull) best.pop();
  const place = firstIndex(best.length, (at) => (best[at]?.score ?? 0) < ranked.score);
  best.splice(place, 0, ranked);
}

/**
 * Function words, which say nothing about a sentence's content: those of English and of a few other European
 * languages, beyond the stop words of search; in long texts further ones are recognized by their frequency.
 */
const FUNCTION_WORDS: ReadonlySet<string> = new Set(
  wordsOf(
    [
      "all such each both few most more own same ours had were done must only just nor yet",
      "because during before after under between per via",
      "der die das und ist ein eine den dem des von mit auf im zu es",
      "le la les il et en du de au une est dans que qui pour par sur",
      "el los las una del por con lo di da al",
    ].join(" "),
  ),
);
/** Characters that are read of one sentence; more add nothing. */
const MAX_READ = 2048;

/** The terms of a sentence: its searchable words.   AGTP "SUMMARIZE" */
function termsOf(text: string): ReadonlySet<string> {
  const words = wordsOf(text.slice(0, MAX_READ));
  return new Set(words.filter((word) => word.length > 1 && !FUNCTION_WORDS.has(word)));
}
