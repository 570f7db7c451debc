/**
 * How sure the server is that an entry is what was asked for: the share of the question that the
 * entry answers. Each word of the question weighs the more the fewer endpoints have it, and counts
 * in full where the entry has that very word in what it is called or meant for; less in a lesser
 * field, as the beginning of a longer word, for a synonym, or for a likely slip of the pen. It says
 * nothing of whether a call would succeed: that is `semantic.confidence`.   AGTP "QUERY" confidence
 */
import { SEARCH_FIELDS, type SearchField } from "./entry.ts";
import { synonymsOf } from "./synonyms.ts";

/** A word of the question. */
export interface QuestionWord {
  readonly word: string;
  readonly synonyms: ReadonlySet<string>;
  /** More than 0, at most 3. */
  readonly weight: number;
}

/** With the known words that it may be a slip of. */
export interface SpelledWord extends QuestionWord {
  readonly spellings: ReadonlySet<string>;
}

/** The words of an entry that were found, with the fields that they stand in. */
export type MatchedWords = Readonly<Record<string, readonly SearchField[]>>;

const SYNONYM = 0.7;
const SLIP = 0.55;
const BEGINNING = { least: 0.6, most: 0.9 } as const;
/** A word that no endpoint has may matter, or may be small talk. */
const UNKNOWN_WEIGHT = 0.5;
const COMMON_WEIGHT = 0.3;
const MIN_BEGINNING_LENGTH = 3;
/** Whoever begins with what is to be done has said the most of it. */
const ACT_FACTOR = 3;

/** What is known of words. */
export interface Vocabulary {
  /** How many endpoints have it. */
  frequencyOf(word: string): number;
  /** How many endpoints there are. */
  readonly total: number;
  /** Whether it is the name of a method. */
  isMethod(word: string): boolean;
}

/**
 * The words of a question, each once, weighed by how many of all endpoints have it; a question that
 * begins with a method's name is about doing that.
 */
export function weighWords(
  words: readonly string[],
  { frequencyOf, total, isMethod }: Vocabulary,
): readonly QuestionWord[] {
  return [...new Set(words)].map((word, place) => ({
    word,
    synonyms: synonymsOf(word),
    weight: weightOf(frequencyOf(word), total) * (place === 0 && isMethod(word) ? ACT_FACTOR : 1),
  }));
}

function weightOf(frequency: number, total: number): number {
  if (frequency === 0 || total === 0) return UNKNOWN_WEIGHT;
  const rarity = Math.log(1 + total / frequency) / Math.log(1 + total);
  return COMMON_WEIGHT + (1 - COMMON_WEIGHT) * rarity;
}

/** The share of the question that what was found answers; to a thousandth. */
export function coverage(asked: readonly SpelledWord[], matched: MatchedWords): number {
  const found = Object.entries(matched).map(([word, fields]) => ({
    word,
    weight: Math.max(...fields.map((field) => SEARCH_FIELDS[field].weight)),
  }));
  let answered = 0;
  let total = 0;
  for (const word of asked) {
    total += word.weight;
    let best = 0;
    for (const other of found) best = Math.max(best, likeness(word, other.word) * other.weight);
    answered += word.weight * best;
  }
  return total === 0 ? 0 : Math.round((answered / total) * 1000) / 1000;
}

function likeness({ word, synonyms, spellings }: SpelledWord, other: string): number {
  if (other === word) return 1;
  if (word.length >= MIN_BEGINNING_LENGTH && other.startsWith(word)) {
    const { least, most } = BEGINNING;
    return least + (most - least) * (word.length / other.length);
  }
  if (synonyms.has(other)) return SYNONYM;
  return spellings.has(other) ? SLIP : 0;
}
