/**
 * An index over entries: finds those with the words of a question and scores them. It is built in steps and immutable
 * afterwards. Results do not depend on the order of entries or words.
 */
import { addUnder } from "../../base/listed.ts";
import { type Paced, sortPaced } from "../../base/paced.ts";
import { SpreadMap } from "../../base/spread-map.ts";
import { SEARCH_FIELDS, type SearchEntry, type SearchField, sourceOf } from "./entry.ts";
import { LISTED_FACETS } from "./listed-facets.ts";
import { Vocabulary } from "./vocabulary.ts";
import { wordsOf } from "./words.ts";

const FIELDS = Object.keys(SEARCH_FIELDS) as readonly SearchField[];

/** BM25+ with fixed typical field lengths, so that an entry's score does not depend on the other entries. */
const SATURATION = 1.2;
const LENGTH_SHARE = 0.7;
const PRESENCE = 0.5;
const USUAL_LENGTHS: Readonly<Record<SearchField, number>> = {
  ...{ name: 4, intent: 8, description: 12, outcome: 10 },
  ...{ tags: 8, members: 8, details: 24, meaning: 10 },
};

/** The highest field weight for each set of fields, as a bit mask. */
const FIELD_WEIGHTS: Float64Array = Float64Array.from({ length: 1 << FIELDS.length }, (_, bits) =>
  FIELDS.reduce(
    (most, field, at) => ((bits >> at) & 1 ? Math.max(most, SEARCH_FIELDS[field].weight) : most),
    0,
  ),
);

/** The weights of one word in an entry. */
interface WordWorth {
  fields: number;
  impact: number;
}

export interface SearchIndex {
  readonly entries: readonly SearchEntry[];
  readonly vocabulary: Vocabulary;
  readonly postings: Postings;
  readonly facets: FacetIndex;
  /** The words of the entries' methods. */
  readonly methods: ReadonlySet<string>;
  readonly namespaces: ReadonlySet<string>;
  /** Prominence by entry number. */
  readonly prominences: Float64Array;
  /** Entry numbers, most prominent first. */
  readonly byProminence: Uint32Array;
  /** Rank in the order of names, by entry number. */
  readonly places: Uint32Array;
}

/** Builds an index, one entry per step. */
export function* buildingIndex(entries: readonly SearchEntry[]): Paced<SearchIndex> {
  const vocabulary = new Vocabulary();
  const builder = new PostingsBuilder();
  const facets = new FacetIndex();
  const methods = new Set<string>();
  const namespaces = new Set<string>();
  for (const [number, entry] of entries.entries()) {
    for (const [word, { fields, impact }] of worthsOf(entry)) {
      builder.add(vocabulary.add(word), number, fields, impact);
    }
    facets.add(entry, number);
    const { method, namespace } = entry.facets;
    if (method !== undefined && !methods.has(method)) {
      for (const word of wordsOf(method)) methods.add(word);
    }
    if (namespace !== undefined) namespaces.add(namespace);
    yield;
  }
  yield* vocabulary.complete();
  const postings = yield* builder.complete(vocabulary.words.length);
  const prominences = Float64Array.from(entries, ({ prominence }) => prominence);
  const byProminence = orderByProminence(prominences);
  const places = yield* orderingByName(entries);
  return {
    ...{ entries, vocabulary, postings, facets, methods, namespaces },
    ...{ prominences, byProminence, places },
  };
}

/** The number of entries with exactly this word; 0 if it is unknown. */
export function frequencyOf({ vocabulary, postings }: SearchIndex, word: string): number {
  const number = vocabulary.numberOf(word);
  return number === undefined ? 0 : postings.startOf(number + 1) - postings.startOf(number);
}

/** The share of confidence of a word found in these fields. */
export function fieldWeight(fields: number): number {
  return FIELD_WEIGHTS[fields] ?? 0;
}

function worthsOf({ texts }: SearchEntry): ReadonlyMap<string, WordWorth> {
  const worths = new Map<string, WordWorth>();
  for (const [bit, field] of FIELDS.entries()) {
    const text = texts[field];
    if (text === undefined || text === "") continue;
    const words = wordsOf(text);
    for (const [word, count] of countsOf(words)) {
      const worth = worths.get(word) ?? { fields: 0, impact: 0 };
      worth.fields |= 1 << bit;
      worth.impact += impactOf(field, count, words.length);
      worths.set(word, worth);
    }
  }
  return worths;
}

function countsOf(words: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1);
  return counts;
}

function impactOf(field: SearchField, count: number, length: number): number {
  const norm = 1 - LENGTH_SHARE + (LENGTH_SHARE * length) / USUAL_LENGTHS[field];
  const frequency = (count * (SATURATION + 1)) / (count + SATURATION * norm);
  return SEARCH_FIELDS[field].boost * (PRESENCE + frequency);
}

/** Equal entries keep their order. */
function orderByProminence(prominences: Float64Array): Uint32Array {
  const groups = new Map<number, number[]>();
  for (const [number, prominence] of prominences.entries()) addUnder(groups, prominence, number);
  const sorted = [...groups].sort(([one], [other]) => other - one);
  return Uint32Array.from(sorted.flatMap(([, numbers]) => numbers));
}

function* orderingByName(entries: readonly SearchEntry[]): Paced<Uint32Array> {
  const named = entries.map((entry, number) => ({ number, name: sourceOf(entry) }));
  const sorted = yield* sortPaced(named, (one, other) =>
    one.name === other.name ? one.number - other.number : one.name < other.name ? -1 : 1,
  );
  const places = new Uint32Array(entries.length);
  for (const [place, { number }] of sorted.entries()) places[number] = place;
  return places;
}

/** Entries by facet and value, case-insensitively. */
class FacetIndex {
  readonly #entries = new SpreadMap<number[]>();

  add(entry: SearchEntry, number: number): void {
    for (const [facet, valuesOf] of LISTED_FACETS) {
      for (const value of valuesOf(entry)) {
        if (value !== undefined) this.#put(keyOf(facet, value), number);
      }
    }
  }

  #put(key: string, number: number): void {
    const numbers = this.#entries.get(key);
    if (numbers === undefined) this.#entries.set(key, [number]);
    else if (numbers.at(-1) !== number) numbers.push(number);
  }

  /** Returns the numbers of the entries with a value, in order. */
  having(facet: string, value: string): readonly number[] {
    return this.#entries.get(keyOf(facet, value)) ?? [];
  }
}

function keyOf(facet: string, value: string): string {
  return `${facet} ${value.toLowerCase()}`;
}

/** Rows per part: growing adds a part, and copies nothing. */
const PART_ROWS = 8192;

/** The completed rows, sorted by word. */
interface Postings {
  /** The first row of a word; its rows end before those of the next. */
  startOf(word: number): number;
  readonly entries: Uint32Array;
  /** A bit mask of the fields. */
  readonly fields: Uint8Array;
  /** The row's share of the score. */
  readonly impacts: Float32Array;
}

/** A block of rows in the order of insertion. */
class Part {
  readonly words = new Uint32Array(PART_ROWS);
  readonly entries = new Uint32Array(PART_ROWS);
  readonly fields = new Uint8Array(PART_ROWS);
  readonly impacts = new Float32Array(PART_ROWS);
  count = 0;
}

/** Collects rows in any order. */
class PostingsBuilder {
  #last = new Part();
  readonly #parts: Part[] = [this.#last];
  #count = 0;

  add(word: number, entry: number, fields: number, impact: number): void {
    if (this.#last.count === PART_ROWS) {
      this.#last = new Part();
      this.#parts.push(this.#last);
    }
    const part = this.#last;
    part.words[part.count] = word;
    part.entries[part.count] = entry;
    part.fields[part.count] = fields;
    part.impacts[part.count] = impact;
    part.count += 1;
    this.#count += 1;
  }

  /** Sorts the rows by word; the rows of one word keep their order. */
  *complete(wordCount: number): Paced<Postings> {
    const starts = new Uint32Array(wordCount + 1);
    for (const { words, count } of this.#parts) {
      for (let at = 0; at < count; at += 1) {
        const after = (words[at] ?? 0) + 1;
        starts[after] = (starts[after] ?? 0) + 1;
      }
      yield;
    }
    for (let word = 0; word < wordCount; word += 1) {
      starts[word + 1] = (starts[word + 1] ?? 0) + (starts[word] ?? 0);
    }
    const next = starts.slice();
    const entries = new Uint32Array(this.#count);
    const fields = new Uint8Array(this.#count);
    const impacts = new Float32Array(this.#count);
    for (const part of this.#parts) {
      for (let at = 0; at < part.count; at += 1) {
        const word = part.words[at] ?? 0;
        const place = next[word] ?? 0;
        next[word] = place + 1;
        entries[place] = part.entries[at] ?? 0;
        fields[place] = part.fields[at] ?? 0;
        impacts[place] = part.impacts[at] ?? 0;
      }
      yield;
    }
    return { startOf: (word) => starts[word] ?? 0, entries, fields, impacts };
  }
}
