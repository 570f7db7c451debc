/**
 * Which method of the catalog an operation is: the verb that its path ends with, else the first word
 * of its operationId, else what the alias seed makes of its HTTP method. Prose and later words name
 * what is done to, as often as what is done, so they never decide. An operation that only reads is
 * never given a method that changes something.   AGTP-API §3.6, §9, §14.1
 */
import type { Catalog } from "../catalog/catalog.ts";
import type { UpstreamMethod } from "../endpoint/endpoint.ts";
import { canRead, isReading, liftVerb, methodReader } from "./lift-verb.ts";
import type { Operation } from "./operations.ts";
import { wordsOf } from "./words.ts";

/** A method that an operation may have, and the path that goes with it. */
export interface MethodChoice {
  readonly method: string;
  /** The document's path, without the verb that was lifted out of it. */
  readonly path: string;
  /** Why it was guessed; undefined when the document says so. */
  readonly doubt?: string;
}

/** The alias seed first, then what may stand in for it where its pair is taken. */
const BY_HTTP_METHOD: Readonly<Record<UpstreamMethod, readonly string[]>> = {
  GET: ["FETCH", "RETRIEVE", "READ", "OBTAIN", "ACCESS"],
  HEAD: ["PROBE", "PEEK", "CHECK"],
  OPTIONS: ["INTROSPECT", "EXPLORE", "SURVEY"],
  POST: ["CREATE", "SUBMIT", "PROCESS", "REQUEST", "EXECUTE"],
  PUT: ["REPLACE", "SET", "UPDATE", "OVERWRITE"],
  PATCH: ["MODIFY", "UPDATE", "ADJUST", "ALTER"],
  DELETE: ["REMOVE", "PURGE", "VOID"],
};
/** Methods of these categories alone leave everything as it is. */
const READING_ONLY: ReadonlySet<string> = new Set(["discovery", "retrieval", "analysis"]);

/** Every choice there is, the best one first; the catalog has all of them. */
export function chooseMethods(
  operation: Operation,
  catalog: Catalog,
): readonly [MethodChoice, ...MethodChoice[]] {
  const { path, httpMethod, id = "" } = operation;
  const lifted = liftVerb(path, methodReader(catalog, httpMethod));
  const named = firstWordMethod(id, httpMethod, catalog);
  const usual = BY_HTTP_METHOD[httpMethod].filter((method) => catalog.has(method));
  const choices: MethodChoice[] = [
    ...(lifted === undefined ? [] : [lifted]),
    ...(named === undefined ? [] : [{ method: named, path }]),
    ...usual.map((method) => usualChoice(method, operation)),
  ];
  const [best = { method: "EXECUTE", path }, ...others] = choices;
  return [best, ...others];
}

function usualChoice(method: string, { httpMethod, path }: Operation): MethodChoice {
  const isPlain = httpMethod !== "POST" && method === BY_HTTP_METHOD[httpMethod][0];
  if (isPlain) return { method, path };
  return { method, path, doubt: `method ${method} is a guess, ${httpMethod} says no more` };
}

/** Tells whether a method fits what is done: reading changes nothing, and storing does not only read. */
function suits(method: string, httpMethod: UpstreamMethod, catalog: Catalog): boolean {
  const verb = catalog.verbs.get(method) ?? { categories: [] };
  if (isReading(httpMethod)) return canRead(verb);
  // Anything may be asked for by POST.
  return httpMethod === "POST" || !verb.categories.every((category) => READING_ONLY.has(category));
}

/** The method that an operationId begins with. */
function firstWordMethod(
  id: string,
  httpMethod: UpstreamMethod,
  catalog: Catalog,
): string | undefined {
  const method = wordsOf(id)[0]?.toUpperCase() ?? "";
  return catalog.has(method) && suits(method, httpMethod, catalog) ? method : undefined;
}
