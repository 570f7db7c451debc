/**
 * An index over entries: which of them have the words of a question, and how much of it each
 * answers. It never changes once it is built. What is found does not depend on the order in which
 * entries or words come.
 */
import type MiniSearch from "minisearch";
import { coverage, type MatchedWords, type QuestionWord } from "./confidence.ts";
import { SEARCH_FIELDS, type SearchEntry, type SearchField } from "./entry.ts";
import { wordsOf } from "./words.ts";

/** The library, which only a server that answers QUERY loads. */
export type SearchEngine = typeof MiniSearch;

/** An entry that was found. */
export interface Hit<E> {
  readonly entry: E;
  /** 0 to 1. */
  readonly confidence: number;
  /** Orders what has the same confidence. */
  readonly score: number;
}

/** What is asked of an index. */
export interface IndexQuestion<E> {
  readonly words: readonly QuestionWord[];
  accepts(entry: E): boolean;
}

const FIELDS = Object.keys(SEARCH_FIELDS) as readonly SearchField[];
const BOOSTS = Object.fromEntries(FIELDS.map((field) => [field, SEARCH_FIELDS[field].boost]));
/** Only the best by the engine's own score are looked at word by word. */
const MAX_JUDGED = 500;
const MIN_PREFIX_LENGTH = 3;
/** A synonym beside the word itself makes nothing a better answer. */
const INEXACT_BOOST = 0.05;
const MIN_FUZZY_LENGTH = 4;
const LONG_WORD_LENGTH = 8;

interface IndexedTexts {
  readonly id: number;
  readonly [field: string]: string | number;
}

export class SearchIndex<E extends SearchEntry> {
  readonly entries: readonly E[];
  /** The words of the entries' methods. */
  readonly methods: ReadonlySet<string>;
  readonly #engine: MiniSearch<IndexedTexts>;
  /** How many entries have a word. */
  readonly #frequencies = new Map<string, number>();
  /** The words of the entry that is being added. */
  #words = new Set<string>();
  #added = 0;

  /** Nothing is in it before it is completed, at once or by and by. */
  constructor(Engine: SearchEngine, entries: readonly E[]) {
    this.entries = entries;
    this.methods = new Set(entries.flatMap(({ facets }) => wordsOf(facets.method ?? "")));
    this.#engine = new Engine({
      fields: [...FIELDS],
      tokenize: (text) => {
        const words = wordsOf(text);
        for (const word of words) this.#words.add(word);
        return words;
      },
      processTerm: (word) => word,
    });
  }

  /** Adds what is missing, so many entries at most; whether all are in it. */
  add(most: number): boolean {
    const end = Math.min(this.#added + most, this.entries.length);
    for (const entry of this.entries.slice(this.#added, end)) this.#add(entry);
    return this.#added === this.entries.length;
  }

  /** Adds all that is missing. */
  complete(): this {
    this.add(this.entries.length);
    return this;
  }

  #add({ texts }: E): void {
    this.#words = new Set();
    this.#engine.add({ ...texts, id: this.#added });
    this.#added += 1;
    for (const word of this.#words) this.#frequencies.set(word, this.frequencyOf(word) + 1);
  }

  /** How many entries have this very word; 0 for one that is not known. */
  frequencyOf(word: string): number {
    return this.#frequencies.get(word) ?? 0;
  }

  /** The entries that have some of the words, in no particular order. */
  find({ words, accepts }: IndexQuestion<E>): readonly Hit<E>[] {
    if (words.length === 0 || this.entries.length === 0) return [];
    const asked = words.map((word) => ({ ...word, spellings: this.#spellingsOf(word) }));
    const exact = new Set(words.map(({ word }) => word));
    const terms = new Set(
      asked.flatMap(({ word, synonyms, spellings }) => [word, ...synonyms, ...spellings]),
    );
    const results = this.#engine.search([...terms].join(" "), {
      tokenize: (text) => text.split(" "),
      processTerm: (term) => term,
      prefix: (term) => exact.has(term) && term.length >= MIN_PREFIX_LENGTH,
      boost: BOOSTS,
      boostTerm: (term) => (exact.has(term) ? 1 : INEXACT_BOOST),
      boostDocument: (id: number) => this.entries[id]?.prominence ?? 1,
      filter: ({ id }) => this.#isAccepted(id, accepts),
    });
    return results.slice(0, MAX_JUDGED).flatMap(({ id, score, match }): Hit<E>[] => {
      const entry = this.entries[id];
      if (entry === undefined) return [];
      return [{ entry, score, confidence: coverage(asked, match as MatchedWords) }];
    });
  }

  #isAccepted(id: number, accepts: IndexQuestion<E>["accepts"]): boolean {
    const entry = this.entries[id];
    return entry !== undefined && accepts(entry);
  }

  /** Known words that an unknown one may be a slip of. */
  #spellingsOf({ word }: QuestionWord): ReadonlySet<string> {
    if (word.length < MIN_FUZZY_LENGTH || this.frequencyOf(word) > 0) return NO_WORDS;
    const found = this.#engine.search(word, {
      tokenize: (text) => [text],
      processTerm: (term) => term,
      fuzzy: word.length < LONG_WORD_LENGTH ? 1 : 2,
    });
    return new Set(found.flatMap(({ terms }) => terms));
  }
}

const NO_WORDS: ReadonlySet<string> = new Set();
