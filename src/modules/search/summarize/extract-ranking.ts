/**
 * Ranks sentences by their weight: the words that each shares with the others, how early its source
 * says it, and how much of the focus it is about. Everything is counted once a sentence, and
 * nothing is compared with everything else.   AGTP "SUMMARIZE"
 */

import { firstIndex } from "../../../base/first-index.ts";

/** A sentence of a source. */
interface Sentence {
  readonly text: string;
  /** The number of its source, from 0. */
  readonly source: number;
  /** Its place in the source, from 0. */
  readonly position: number;
}

/** A sentence with what it is worth. */
export interface RankedSentence extends Sentence {
  /** Its place among all sentences. */
  readonly index: number;
  readonly score: number;
  readonly terms: readonly number[];
}

/** The best sentences, best first. */
export interface RankedSentences {
  /** The sentences that are short enough. */
  readonly fitting: readonly RankedSentence[];
  /** The best of all, however long. */
  readonly best: RankedSentence | undefined;
}

/** So many are looked at closely; a summary takes fewer. */
const MAX_CANDIDATES = 256;
/** Sentences between two pauses. */
const SLICE = 128;
const CENTRAL_SHARE = 0.8;
const FOCUS_WEIGHT = 2;
/** In a source of this many sentences, a word that most of them have says nothing about one. */
const MANY = 8;

/** Takes sentences, and ranks them when all are there. */
export class Ranking {
  readonly #sentences: Sentence[] = [];
  readonly #terms: (readonly number[])[] = [];
  readonly #ids = new Map<string, number>();
  /** By term, how many sentences have it. */
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

  /** Yields whenever others may have their turn; `maxLength` is that of a sentence that fits. */
  *rank(maxLength: number): Generator<undefined, RankedSentences> {
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

  /** The share of the content of all sentences that these have, from 0 to 1. */
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

/** Long sentences have more words; each further one counts for less. */
function centralityOf(terms: readonly number[], weights: readonly number[]): number {
  let sum = 0;
  for (const id of terms) sum += weights[id] ?? 0;
  return sum / Math.sqrt(4 + terms.length);
}

/** Best first; of equals the earlier one. */
function insert(best: RankedSentence[], ranked: RankedSentence): void {
  const isFull = best.length >= MAX_CANDIDATES;
  if (isFull && ranked.score <= (best.at(-1)?.score ?? 0)) return;
  if (isFull) best.pop();
  const place = firstIndex(best.length, (at) => (best[at]?.score ?? 0) < ranked.score);
  best.splice(place, 0, ranked);
}

const WORDS = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** Of English, and the commonest of its neighbours; in long texts others are told by their number. */
const FUNCTION_WORDS: ReadonlySet<string> = new Set(
  [
    "in on at to of it is be as by or an if he we me my no so up us do am",
    "the and for with that this these those its from are was were has have had not but all any",
    "into what which who whom when where while how why than then there here they them their his",
    "her she him you your our ours will would can could may might must shall should been being",
    "also such only very more most some each other about after before over under between out off",
    "does did done just because during both few own same nor yet per via",
    "der die das und ist ein eine den dem des von mit auf im zu es",
    "le la les il et en du de des au une est dans que qui pour par sur",
    "el los las una del por con lo di da al",
  ].flatMap((line) => line.split(" ")),
);
const MIN_WORD_LENGTH = 2;
const MAX_WORD_LENGTH = 64;
/** Of one sentence; a longer one says no more about itself. */
const MAX_TERMS = 256;

/**
 * The terms of a sentence: its words in lower case, and for scripts that write no spaces its pairs
 * of characters. Words that hold sentences together say nothing about them.   AGTP "SUMMARIZE"
 */
function termsOf(text: string): ReadonlySet<string> {
  const terms = new Set<string>();
  for (const [word] of text.matchAll(WORDS)) {
    if (terms.size >= MAX_TERMS) break;
    if (UNSPACED.test(word)) addPairs(word, terms);
    else addWord(word, terms);
  }
  return terms;
}

function addWord(word: string, terms: Set<string>): void {
  if (word.length < MIN_WORD_LENGTH || word.length > MAX_WORD_LENGTH) return;
  const lower = word.toLowerCase();
  if (!FUNCTION_WORDS.has(lower)) terms.add(singular(lower));
}

/** A plural in "s" is about the same thing; nothing more is known of a language. */
function singular(word: string): string {
  return word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
}

function addPairs(run: string, terms: Set<string>): void {
  let before = "";
  for (const character of run) {
    if (terms.size >= MAX_TERMS) return;
    if (before !== "") terms.add(before + character);
    before = character;
  }
  if (terms.size === 0) terms.add(run);
}
