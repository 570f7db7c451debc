/**
 * Which method of the catalog an operation is: the verb that its path ends with, else a word of its
 * operationId, else the first word of its summary, else what its HTTP method usually means. A guess
 * is said to be one. An operation that only reads is never given a method that changes something.
 * AGTP-API §3.6, §14.1
 */
import type { Catalog } from "../catalog/catalog.ts";
import type { UpstreamMethod } from "../contract/endpoint.ts";
import { canRead, isReading, liftVerb, methodReader } from "./lift-verb.ts";
import type { Operation } from "./operations.ts";
import { firstSentence, wordsOf } from "./words.ts";

/** A method that an operation may have, and the path that goes with it. */
export interface MethodChoice {
  readonly method: string;
  /** The document's path, without the verb that was lifted out of it. */
  readonly path: string;
  /** Why it was guessed; undefined when the document says so. */
  readonly doubt?: string;
}

/** Words that APIs use for what the catalog calls otherwise. */
const SYNONYMS: Readonly<Record<string, string>> = {
  add: "CREATE",
  delete: "REMOVE",
  destroy: "REMOVE",
  get: "FETCH",
  insert: "INSERT",
  login: "AUTHENTICATE",
  logout: "TERMINATE",
  new: "CREATE",
  patch: "MODIFY",
  put: "REPLACE",
  query: "QUERY",
  show: "FETCH",
  upload: "SUBMIT",
  view: "FETCH",
};

/** What is left to say of an HTTP method, likeliest first. */
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
/** Only a repetition of the HTTP method, which says less than a summary. */
const HTTP_WORDS: ReadonlySet<string> = new Set(["post", "put", "patch", "head", "options"]);

/** Every choice there is, the best one first; the catalog has all of them. */
export function chooseMethods(
  operation: Operation,
  catalog: Catalog,
): readonly [MethodChoice, ...MethodChoice[]] {
  const { path, httpMethod, id = "", raw } = operation;
  const isUsable = (method: string | undefined): method is string =>
    method !== undefined && catalog.has(method) && suits(method, httpMethod, catalog);
  const lifted = liftVerb(path, methodReader(catalog, httpMethod));
  const named = methodsIn(idWords(id), catalog).find(isUsable);
  const summary = typeof raw["summary"] === "string" ? raw["summary"] : "";
  const [firstWord = ""] = wordsOf(firstSentence(summary, 80));
  const told = [methodOf(stem(firstWord, catalog), catalog)].find(isUsable);
  const usual = BY_HTTP_METHOD[httpMethod].filter((method) => catalog.has(method));
  const choices: MethodChoice[] = [
    ...(lifted === undefined ? [] : [lifted]),
    ...(named === undefined ? [] : [{ method: named, path }]),
    ...(told === undefined ? [] : [guess(told, path, "taken from the summary")]),
    ...usual.map((method) => usualChoice(method, operation)),
  ];
  const [best = { method: "EXECUTE", path }, ...others] = choices;
  return [best, ...others];
}

function usualChoice(method: string, { httpMethod, path }: Operation): MethodChoice {
  const isPlain = httpMethod !== "POST" && method === BY_HTTP_METHOD[httpMethod][0];
  return isPlain ? { method, path } : guess(method, path, `${httpMethod} says no more`);
}

function guess(method: string, path: string, why: string): MethodChoice {
  return { method, path, doubt: `method ${method} is a guess, ${why}` };
}

/** Whether a method fits what is done: reading changes nothing, and storing does not only read. */
function suits(method: string, httpMethod: UpstreamMethod, catalog: Catalog): boolean {
  const verb = catalog.verbs.get(method) ?? { categories: [] };
  if (isReading(httpMethod)) return canRead(verb);
  // Anything may be asked for by POST.
  return httpMethod === "POST" || !verb.categories.every((category) => READING_ONLY.has(category));
}

/** The words of an operationId that may be its verb, likeliest first. */
function idWords(id: string): readonly string[] {
  const segments = id.split(/[/.:#]+/).filter((segment) => segment !== "");
  const last = segments.at(-1) ?? "";
  const parts = last.split("_").filter((part) => part !== "");
  const firstOf = (text: string): string => wordsOf(text)[0] ?? "";
  return [
    firstOf(last),
    // `Machines_Start`: the verb comes behind what it is done to.
    ...(parts.length > 1 && /[A-Z]/.test(last) ? [firstOf(parts.at(-1) ?? "")] : []),
    ...segments.slice(0, -1).map(firstOf),
    ...(segments.length === 1 ? [wordsOf(last).at(-1) ?? ""] : []),
  ].filter((word) => !HTTP_WORDS.has(word));
}

function methodsIn(words: readonly string[], catalog: Catalog): readonly string[] {
  return words.flatMap((word) => methodOf(word, catalog) ?? []);
}

function methodOf(word: string, catalog: Catalog): string | undefined {
  const synonym = Object.hasOwn(SYNONYMS, word) ? SYNONYMS[word] : undefined;
  const method = synonym ?? word.toUpperCase();
  return catalog.has(method) ? method : undefined;
}

/** "Lists", "Retrieves": the form in which summaries often begin. */
function stem(word: string, catalog: Catalog): string {
  const forms = [word, word.replace(/s$/, ""), word.replace(/es$/, "")];
  return forms.find((form) => methodOf(form, catalog) !== undefined) ?? word;
}
