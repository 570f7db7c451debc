/**
 * Words that agents use for one another when they say what they want to be done, in English. A
 * synonym counts less than the word itself, so a group may be generous.
 */
import { wordsOf } from "./words.ts";

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

/** The synonyms of a word as `wordsOf` gives it, itself not among them. */
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
