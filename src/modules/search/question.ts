/**
 * A question: an intent in words, or an object whose texts are the words and whose members may be conditions. Sizes
 * are bounded; an excess is a 422 that names its place.
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
  /** Undefined for every entry, in index order. */
  readonly words: readonly string[] | undefined;
  /** Valid by the filter's schema. */
  readonly filter: JsonRecord;
}

/** A question that cannot be answered, with its violations. */
interface QuestionFault {
  readonly kind: "fault";
  readonly violations: readonly SchemaViolation[];
}

/** The parameter with the question, by the name that the request used. */
export interface Asked {
  readonly name: string;
  readonly value: unknown;
  readonly filter: JsonRecord;
}

/** Longest text of a question, in code points as schemas count them. */
export const MAX_QUESTION_LENGTH = 1024;
/** Further words are ignored. */
const MAX_WORDS = 32;
const MAX_DEPTH = 8;
const MAX_TEXTS = 128;
const EVERYTHING = "*";

/** Reads the intent or criteria from an input that is valid by its method's schema. */
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

/** Concatenates the scalars of a value in order; undefined if there are too many. */
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

/** The schema of an intent or criteria. */
export const QUESTION_SCHEMA: JsonSchema = {
  type: ["string", "object"],
  minLength: 1,
  maxLength: MAX_QUESTION_LENGTH,
  minProperties: 1,
};

/** The schema of the requested number of results. */
export const COUNT_SCHEMA: JsonSchema = { type: "integer", minimum: 1 };

/** Maximal number of results in an answer. */
const MAX_RESULTS = 100;
/** Default number of results. */
const USUAL_RESULTS = 10;
/** Maximal octets of an answer's results as JSON. */
const MAX_ANSWER_LENGTH = 524_288;

/** Returns the names in a list, as written; undefined if there are none. */
export function readNames(value: unknown): readonly string[] | undefined {
  const names = value === undefined ? [] : readList(value);
  return names.length === 0 ? undefined : names;
}

/** Limits the requested number of results to the maximum. */
export function readMaxResults(value: unknown): number {
  return typeof value === "number" ? Math.min(value, MAX_RESULTS) : USUAL_RESULTS;
}

/** Returns the caller and its zones.   AGTP "Zones" */
export function readAsker(exchange: ExchangeView): Asker {
  const { caller, peer } = exchange;
  return { caller, peer, zones: boundZones(caller, peer, exchange.header("agtp-zone-id")) };
}

/** Returns the first results that fit into an answer, at least one. */
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
