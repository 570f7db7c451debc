/**
 * Assigns every operation its own pair of method and path. In document order, each operation takes
 * the first of its choices that the grammar allows, the protocol does not reserve, and no earlier
 * operation has: the same document always yields the same pairs.   AGTP-API §5.4, §5.9, §14.1
 */
import { given, quoteValue } from "../base/json-value.ts";
import { templateNames, templateShape } from "../base/template.ts";
import type { Catalog } from "../catalog/catalog.ts";
import type { Pair } from "../catalog/pair.ts";
import { checkTemplate, type MethodNames } from "../catalog/path-grammar.ts";
import type { UpstreamMethod } from "../endpoint/endpoint.ts";
import { checkReservation } from "../endpoint/method-rule.ts";
import { type EndpointPath, makePath, PairSet } from "./endpoint-path.ts";
import { EXTENSION, readExtension } from "./extension.ts";
import { canRead, isReading, liftVerb, methodReader, onlyReads } from "./http-form.ts";
import type { Operation } from "./operations.ts";
import { kebab, Notes, wordsOf } from "./words.ts";

/** The pair of an operation, with remarks for the reviewer. */
export interface AssignedPair {
  readonly method: string;
  readonly path: EndpointPath;
  /** The reason the method, or the path, needs a review. */
  readonly methodDoubt?: string;
  readonly pathDoubt?: string;
  /** The word in the document that the method comes from, if it is only a name. */
  readonly methodOrigin?: string;
}

/** The catalog and method names from which pairs are made. */
export interface PairRules {
  readonly catalog: Catalog;
  readonly names: MethodNames;
}

/** Returns the pairs of the operations, in their order. */
export function assignPairs(
  operations: readonly Operation[],
  rules: PairRules,
): readonly AssignedPair[] {
  const taken = new PairSet();
  return operations.map((operation) => {
    const read = told(operation, rules, taken);
    const pair = typeof read === "object" ? read : assign(operation, rules, taken);
    taken.add(pair.method, pair.path.path);
    return typeof read === "string" ? { ...pair, methodDoubt: `${UNTOLD}: ${read}` } : pair;
  });
}

const UNTOLD = `${EXTENSION.method} and ${EXTENSION.path} are not taken`;

/** The pair that the document's extension names, or the reason it is rejected; undefined if it names none. */
function told(
  operation: Operation,
  rules: PairRules,
  taken: PairSet,
): AssignedPair | string | undefined {
  const { method, path } = readExtension(operation.raw, new Notes());
  if (method === undefined && path === undefined) return undefined;
  if (method === undefined || path === undefined) return "expected both of them";
  if (!rules.catalog.has(method)) return `${quoteValue(method)} is not in the catalog`;
  const fault = checkTemplate(path, rules.names);
  if (fault !== undefined) return fault.message;
  const here = templateNames(path);
  const there = templateNames(operation.path);
  if (here.length !== there.length) return "the path has not the parameters of the document's";
  if (!isFree(method, path, rules, taken)) return `${method} ${path} belongs to another endpoint`;
  const parameters = there.map((name, index) => [name, here[index] ?? name] as const);
  return { method, path: { path, parameters, renamed: [] } };
}

function assign(operation: Operation, rules: PairRules, taken: PairSet): AssignedPair {
  const choices = chooseMethods(operation, rules.catalog);
  const [best] = choices;
  for (const choice of choices) {
    const path = makePath(choice.path, choice.method, rules.names);
    if (!isFree(choice.method, path.path, rules, taken)) continue;
    const pair = describePair(choice, path);
    if (choice.method === best.method) return pair;
    return { ...pair, methodDoubt: `${best.method} ${choice.path} belongs to another endpoint` };
  }
  const { id, httpMethod } = operation;
  const wanted = kebab(id ?? "") || `by-${httpMethod.toLowerCase()}`;
  const pathFor = (method: string): EndpointPath => makePath(operation.path, method, rules.names);
  // A pair that the protocol reserves stays reserved with a longer path.
  const isOpen = ({ method }: MethodChoice): boolean => {
    const longer = withSegment(pathFor(method).path, wanted);
    return checkReservation(method, longer, rules.catalog.embedded) === undefined;
  };
  const choice = choices.find(isOpen) ?? best;
  const path = pathFor(choice.method);
  const freed = addSegment({ ...choice, path: path.path }, wanted, rules, taken);
  return {
    ...describePair({ ...choice, path: operation.path }, { ...path, path: freed }),
    pathDoubt: `${choice.method} ${path.path} belongs to another endpoint`,
  };
}

/** Appends a segment that distinguishes the operation's path from the one already taken. */
function addSegment(
  { method, path }: Pair,
  wanted: string,
  rules: PairRules,
  taken: PairSet,
): string {
  const behind = taken.takenBehind(method, path);
  // A parameter matches any segment, so the path gets one more.
  if ([...behind].some((segment) => segment.startsWith("{"))) {
    const longer = withSegment(path, `${wanted}_2`);
    return addSegment({ method, path: longer }, wanted, rules, taken);
  }
  const family = `${method} ${templateShape(path)} ${wanted}`;
  for (let number = taken.tried.get(family) ?? 1; ; number += 1) {
    taken.tried.set(family, number);
    const segment = number === 1 ? wanted : `${wanted}_${number}`;
    const longer = withSegment(path, segment);
    if (!behind.has(segment) && checkTemplate(longer, rules.names) === undefined) return longer;
  }
}

function withSegment(path: string, segment: string): string {
  return `${path === "/" ? "" : path}/${segment}`;
}

function describePair({ method, doubt, origin }: MethodChoice, path: EndpointPath): AssignedPair {
  const renamed = path.renamed
    .filter(([, to]) => to !== "")
    .map(([from, to]) => `${from} is ${to}`);
  return {
    method,
    path,
    ...given({ methodDoubt: doubt, methodOrigin: origin }),
    ...(renamed.length === 0
      ? {}
      : { pathDoubt: `${renamed.join(", ")} here, because a method has that name` }),
  };
}

function isFree(method: string, path: string, { catalog }: PairRules, taken: PairSet): boolean {
  if (checkReservation(method, path, catalog.embedded) !== undefined) return false;
  return !taken.isAmbiguous(method, path);
}

/** A possible method of an operation, and its path. */
interface MethodChoice {
  readonly method: string;
  /** The document's path, without a verb that was lifted out of it. */
  readonly path: string;
  /** The reason it is a guess; undefined if the document states it. */
  readonly doubt?: string;
  readonly origin?: string;
}

/** The seed of the alias table first, then substitutes for a pair that is taken. */
const BY_HTTP_METHOD: Readonly<Record<UpstreamMethod, readonly string[]>> = {
  GET: ["FETCH", "RETRIEVE", "READ", "OBTAIN", "ACCESS"],
  HEAD: ["PROBE", "PEEK", "CHECK"],
  OPTIONS: ["INTROSPECT", "EXPLORE", "SURVEY"],
  POST: ["CREATE", "SUBMIT", "PROCESS", "REQUEST", "EXECUTE"],
  PUT: ["REPLACE", "SET", "UPDATE", "OVERWRITE"],
  PATCH: ["MODIFY", "UPDATE", "ADJUST", "ALTER"],
  DELETE: ["REMOVE", "PURGE", "VOID"],
};

/** Lists every choice, best first; all of them are in the catalog. */
function chooseMethods(
  operation: Operation,
  catalog: Catalog,
): readonly [MethodChoice, ...MethodChoice[]] {
  const { path, httpMethod, id = "" } = operation;
  const lifted = liftVerb(path, methodReader(catalog, httpMethod));
  const named = firstWordMethod(id, httpMethod, catalog);
  const usual = BY_HTTP_METHOD[httpMethod].filter((method) => catalog.has(method));
  const choices: MethodChoice[] = [
    ...(lifted === undefined ? [] : [lifted]),
    ...(named === undefined ? [] : [{ method: named, path, origin: nameOrigin(id) }]),
    ...usual.map((method) => usualChoice(method, operation)),
  ];
  const [best = { method: "EXECUTE", path }, ...others] = choices;
  return [best, ...others];
}

/** Notes that the method comes from a name, which may not describe what the operation does. */
function nameOrigin(id: string): string {
  return `the operationId ${quoteValue(id)} names it`;
}

function usualChoice(method: string, { httpMethod, path }: Operation): MethodChoice {
  const isPlain = httpMethod !== "POST" && method === BY_HTTP_METHOD[httpMethod][0];
  if (isPlain) return { method, path };
  return { method, path, doubt: `method ${method} is a guess, ${httpMethod} says no more` };
}

/** Returns true if a method fits the HTTP method: safe ones change nothing, and others do more than read. */
function suits(method: string, httpMethod: UpstreamMethod, catalog: Catalog): boolean {
  const verb = catalog.verbs.get(method) ?? { categories: [] };
  if (isReading(httpMethod)) return canRead(verb);
  // POST may stand for any method.
  return httpMethod === "POST" || !onlyReads(verb);
}

function firstWordMethod(
  id: string,
  httpMethod: UpstreamMethod,
  catalog: Catalog,
): string | undefined {
  const method = wordsOf(id)[0]?.toUpperCase() ?? "";
  return catalog.has(method) && suits(method, httpMethod, catalog) ? method : undefined;
}
