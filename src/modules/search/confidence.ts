/**
 * Confidence that an entry is the wanted one: the share of the question that it answers. A word of the question weighs
 * more the fewer endpoints contain it. It counts in full if the entry has it in its name or intent, and less in
 * another field, as a prefix of a longer word, for a synonym, or for a likely typo. It does not predict success of a
 * call: that is `semantic.confidence`.   AGTP "QUERY" confidence
 */
import { frequencyOf, type SearchIndex } from "./search-index.ts";
import { wordsOf } from "./words.ts";

export interface QuestionWord {
  readonly word: string;
  readonly synonyms: ReadonlySet<string>;
  /** More than 0, at most 3. */
  readonly weight: number;
}

/** The weight of a synonym. */
export const SYNONYM = 0.7;
/** The weight of a likely typo. */
export const SLIP = 0.55;
const BEGINNING = { least: 0.6, most: 0.9 } as const;
/** Weight of a word that no endpoint has: it may matter, or be small talk. */
const UNKNOWN_WEIGHT = 0.5;
const COMMON_WEIGHT = 0.3;
/** Shorter prefixes match too many words. */
export const MIN_BEGINNING_LENGTH = 3;
/** Factor for the method at the start of a question, which is its most telling word. */
const ACT_FACTOR = 3;

/**
 * Weighs the distinct words of a question by the number of endpoints that contain them; a method's name at the start
 * weighs more.
 */
export function weighWords(words: readonly string[], index: SearchIndex): readonly QuestionWord[] {
  return [...new Set(words)].map((word, place) => {
    const weight = weightOf(frequencyOf(index, word), index.entries.length);
    const isAct = place === 0 && index.methods.has(word);
    return { word, synonyms: synonymsOf(word), weight: isAct ? weight * ACT_FACTOR : weight };
  });
}

function weightOf(frequency: number, total: number): number {
  if (frequency === 0 || total === 0) return UNKNOWN_WEIGHT;
  const rarity = Math.log(1 + total / frequency) / Math.log(1 + total);
  return COMMON_WEIGHT + (1 - COMMON_WEIGHT) * rarity;
}

/** The weight of a longer word that starts with the word. */
export function beginningOf(word: string, longer: string): number {
  const { least, most } = BEGINNING;
  return least + (most - least) * (word.length / longer.length);
}

/** Confidence values are multiples of a thousandth. */
export const CONFIDENCE_STEPS = 1000;

/**
 * English words that agents use for one another. A synonym counts less than the word itself, so a group may be
 * generous.
 */
const GROUPS: readonly string[] = [
  "book reserve reservation stay",
  "buy purchase order acquire procure",
  "cancel revoke withdraw abort",
  "delete remove erase discard",
  "create add make new open register",
  "change update modify edit amend adjust",
  "find search query lookup list show fetch get retrieve read see view display browse check look learn",
  "check verify validate test",
  "available free vacant open",
  "send deliver transmit",
  "notify inform tell alert message announce",
  "pay charge payment settle",
  "refund reimburse repay",
  "price cost fee rate quote amount",
  "invoice bill receipt",
  "hotel accommodation lodging",
  "customer client guest buyer",
  "user member account",
  "meeting appointment event",
  "ship deliver dispatch",
  "parcel package shipment delivery",
  "stock inventory warehouse",
  "weather forecast temperature",
  "translate translation interpret",
  "summarize summary condense digest",
  "start begin launch activate",
  "stop end halt terminate suspend",
  "status state progress",
  "document file paper",
  "approve confirm accept",
  "reject decline refuse deny",
  "assign delegate hand",
  "plan schedule arrange",
  "move transfer relocate",
  "staff employee worker",
  "product item article goods",
  "trip travel journey",
  "flight plane airline",
  "email mail",
  "photo picture image",
  "phone telephone call",
  "error fault failure problem",
  "history log record",
  "permission authority scope",
];

const BY_WORD: ReadonlyMap<string, ReadonlySet<string>> = groupByWord(GROUPS);
const NONE: ReadonlySet<string> = new Set();

/** Returns the synonyms of a word from `wordsOf`, without the word itself. */
export function synonymsOf(word: string): ReadonlySet<string> {
  return BY_WORD.get(word) ?? NONE;
}

function groupByWord(groups: readonly string[]): ReadonlyMap<string, ReadonlySet<string>> {
  const byWord = new Map<string, Set<string>>();
  for (const group of groups) {
    const words = wordsOf(group);
    for (const word of words) {
      const others = byWord.get(word) ?? new Set();
      for (const other of words) if (other !== word) others.add(other);
      byWord.set(word, others);
    }
  }
  return byWord;
}
