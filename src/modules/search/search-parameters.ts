/** Parameters that QUERY and DISCOVER have in common, read after their schemas admitted them. */

import type { Paced } from "../../base/paced.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import type { JsonSchema } from "../../schema/json-schema.ts";
import type { Asker } from "./entry.ts";
import { MAX_QUESTION_LENGTH } from "./question.ts";
import { boundZones } from "./zones.ts";

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

/** A text with commas, or a list of names; case does not count. */
export function readNames(value: unknown): readonly string[] | undefined {
  if (value === undefined) return undefined;
  const list: readonly unknown[] = Array.isArray(value) ? value : String(value).split(",");
  const names = list.map((name) => String(name).trim()).filter((name) => name !== "");
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
