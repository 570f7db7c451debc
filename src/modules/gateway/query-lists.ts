/**
 * Lists in the query of an HTTP request. In AGTP a name has one value there, and what has several
 * rides in the body; HTTP clients repeat the name. Fields that the endpoint declares as lists are
 * taken out of the query, for a body that the request has none of.   AGTP-API §5.5
 */

import type { JsonRecord } from "../../base/json-value.ts";
import { coerceText, decodeQueryPart } from "../../endpoint/input.ts";
import type { InputShape } from "../../endpoint/input-shape.ts";

/** A query in two parts. */
export interface SplitQuery {
  /** A value that is no list, as it was written. */
  readonly rest: string;
  readonly lists: JsonRecord;
}

/** Splits a query; undefined: there is no list in it, or it cannot be read, which a gate says. */
export function splitQuery(query: string, shape: InputShape): SplitQuery | undefined {
  if (shape.lists.size === 0) return undefined;
  const lists = new Map<string, unknown[]>();
  const rest: string[] = [];
  for (const part of query.split("&")) {
    const equals = part.indexOf("=");
    const name = decodeQueryPart(equals === -1 ? part : part.slice(0, equals));
    const types = name === undefined ? undefined : shape.lists.get(name);
    if (name === undefined || types === undefined) {
      rest.push(part);
      continue;
    }
    const value = decodeQueryPart(equals === -1 ? "" : part.slice(equals + 1));
    if (value === undefined) return undefined;
    const list = lists.get(name) ?? [];
    lists.set(name, list);
    list.push(coerceText(value, types));
  }
  return lists.size === 0 ? undefined : { rest: rest.join("&"), lists: Object.fromEntries(lists) };
}
