/**
 * A question: an intent in words, or an object whose texts are the words and whose members may
 * be conditions. Everything is bounded; what goes beyond is a 422, with the place it stands at.
 * AGTP "QUERY" intent, "DISCOVER" criteria
 */

import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { CompiledSchema, SchemaViolation } from "../../schema/schema.ts";
import { isFilterName } from "./filter.ts";
import { wordsOf } from "./words.ts";

/** A question, read. */
export interface Question {
  readonly kind: "question";
  /** Undefined: everything, in the order that it stands in. */
  readonly words: readonly string[] | undefined;
  /** Valid by the filter's schema. */
  readonly filter: JsonRecord;
}

/** Why it cannot be answered. */
interface QuestionFault {
  readonly kind: "fault";
  readonly violations: readonly SchemaViolation[];
}

/** The parameter that asks, under the name that it was sent with. */
interface Asked {
  readonly name: string;
  readonly value: unknown;
  readonly filter: JsonRecord;
}

/** Longest text of a question, in code points as schemas count them. */
export const MAX_QUESTION_LENGTH = 1024;
/** Further words are not looked at. */
const MAX_WORDS = 32;
const MAX_DEPTH = 8;
const MAX_TEXTS = 128;
const EVERYTHING = "*";

/** Reads the intent or the criteria of a request whose input is valid by its method's schema. */
export function readQuestion(
  { name, value, filter }: Asked,
  checkFilter: CompiledSchema,
): Question | QuestionFault {
  const conditions = isRecord(value)
    ? Object.entries(value).filter(([member]) => isFilterName(member))
    : [];
  const own = Object.fromEntries(conditions);
  const violations = checkFilter.check(own, true);
  if (violations !== undefined) {
    const placed = violations.map((one) => ({ ...one, path: `/${name}${one.path}` }));
    return { kind: "fault", violations: placed };
  }
  const rest = isRecord(value) ? withoutConditions(value) : value;
  const text = textOf(rest);
  if (text === undefined || isTooLong(text)) return tooLong(name);
  const isOpen = text.trim() === EVERYTHING || (isRecord(value) && text === "");
  const words = isOpen ? undefined : [...new Set(wordsOf(text))].slice(0, MAX_WORDS);
  return { kind: "question", words, filter: { ...own, ...filter } };
}

function isTooLong(text: string): boolean {
  return text.length > 2 * MAX_QUESTION_LENGTH || [...text].length > MAX_QUESTION_LENGTH;
}

function tooLong(name: string): QuestionFault {
  const message = `must have at most ${MAX_QUESTION_LENGTH} characters in ${MAX_TEXTS} texts`;
  return { kind: "fault", violations: [{ path: `/${name}`, keyword: "maxLength", message }] };
}

function withoutConditions(value: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(value).filter(([name]) => !isFilterName(name)));
}

/** The texts, numbers and flags within, in their order; undefined: there are too many. */
function textOf(value: unknown): string | undefined {
  const texts: string[] = [];
  const pending: { readonly value: unknown; readonly depth: number }[] = [{ value, depth: 0 }];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if (typeof next.value !== "object" || next.value === null) {
      if (next.value !== null) texts.push(String(next.value));
      if (texts.length > MAX_TEXTS) return undefined;
      continue;
    }
    if (next.depth === MAX_DEPTH) return undefined;
    const { depth } = next;
    const members: readonly unknown[] = Object.values(next.value);
    if (members.length + pending.length > MAX_TEXTS) return undefined;
    pending.push(...members.toReversed().map((member) => ({ value: member, depth: depth + 1 })));
  }
  return texts.join(" ");
}
