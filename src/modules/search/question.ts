/**
 * A question: an intent in words, or an object whose texts are the words and whose members may
 * be conditions. Everything is bounded; what goes beyond is a 422, with the place it stands at.
 * AGTP "QUERY" intent, "DISCOVER" criteria
 */

import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { Paced } from "../../base/paced.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { CompiledSchema, SchemaViolation } from "../../schema/schema.ts";
import type { Asker } from "./entry.ts";
import { isFilterName, readList } from "./filter.ts";
import { boundZones } from "./listed-facets.ts";
import { wordsOf } from "./words.ts";

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
export interface Asked {
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

/** Schema of what is asked: an intent, or criteria. */
export const QUESTION_SCHEMA: JsonSchema = {
  type: ["string", "object"],
  minLength: 1,
  maxLength: MAX_QUESTION_LENGTH,
  minProperties: 1,
};

/** Schema of how many results are asked for. */
export const COUNT_SCHEMA: JsonSchema = { type: "integer", minimum: 1 };

/** Most results of one answer. */
const MAX_RESULTS = 100;
/** Results of an answer to a request that does not say how many. */
const USUAL_RESULTS = 10;
/** Octets of results in one answer, as JSON. */
const MAX_ANSWER_LENGTH = 524_288;

/** The names of a list, if there are any; case does not count. */
export function readNames(value: unknown): readonly string[] | undefined {
  const names = value === undefined ? [] : readList(value);
  return names.length === 0 ? undefined : names;
}

/** Asking for more than there may be is asking for as many as there may be. */
export function readMaxResults(value: unknown): number {
  return typeof value === "number" ? Math.min(value, MAX_RESULTS) : USUAL_RESULTS;
}

/** The caller, and its zone.   AGTP "Zones" */
export function readAsker(exchange: ExchangeView): Asker {
  const { caller, peer } = exchange;
  return { caller, peer, zones: boundZones(caller, peer, exchange.header("agtp-zone-id")) };
}

/** As many results as fit into one answer, from the first; the first one always does. */
export function* fitResults<I, T>(
  items: readonly I[],
  show: (item: I, index: number) => T,
): Paced<readonly T[]> {
  const results: T[] = [];
  let length = 0;
  for (const [index, item] of items.entries()) {
    const result = show(item, index);
    length += JSON.stringify(result).length;
    if (index > 0 && length > MAX_ANSWER_LENGTH) break;
    results.push(result);
    yield;
  }
  return results;
}
