/**
 * Gives every operation a pair of method and path of its own. Operations come in the document's
 * order, and each takes the first of its choices that the grammar allows, the protocol does not
 * reserve, and no earlier operation has: the same document always gives the same pairs.
 * AGTP-API §5.4, §5.9, §14.1
 */
import { templateNames } from "../base/template.ts";
import type { Catalog } from "../catalog/catalog.ts";
import { checkTemplate, type MethodNames } from "../catalog/path-grammar.ts";
import { checkReservation } from "../endpoint/reserved-endpoints.ts";
import { chooseMethods, type MethodChoice } from "./choose-method.ts";
import { type EndpointPath, freeName, makePath } from "./endpoint-path.ts";
import { readExtension } from "./extension.ts";
import { Notes } from "./notes.ts";
import type { Operation } from "./operations.ts";
import { PairSet } from "./pair-set.ts";
import { kebab } from "./words.ts";

/** The pair of an operation, and what is to be said about it. */
export interface AssignedPair {
  readonly method: string;
  readonly path: EndpointPath;
  /** Why the method, or the path, needs a look. */
  readonly methodDoubt?: string;
  readonly pathDoubt?: string;
}

/** The vocabulary that pairs are made of. */
export interface PairRules {
  readonly catalog: Catalog;
  readonly names: MethodNames;
}

/** The pairs of operations, in their order. */
export function assignPairs(
  operations: readonly Operation[],
  rules: PairRules,
): readonly AssignedPair[] {
  const taken = new PairSet();
  return operations.map((operation) => {
    const pair = told(operation, rules, taken) ?? assign(operation, rules, taken);
    taken.add(pair.method, pair.path.path);
    return pair;
  });
}

/** The document's own operations. */
function told(operation: Operation, rules: PairRules, taken: PairSet): AssignedPair | undefined {
  const { method, path } = readExtension(operation.raw, new Notes());
  if (method === undefined || path === undefined || !rules.catalog.has(method)) return undefined;
  if (checkTemplate(path, rules.names) !== undefined) return undefined;
  const here = templateNames(path);
  const there = templateNames(operation.path);
  if (here.length !== there.length || !isFree(method, path, rules, taken)) return undefined;
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
  const path = makePath(operation.path, best.method, rules.names);
  const freed = addSegment(path, best.method, operation, rules, taken);
  return {
    ...describePair({ ...best, path: operation.path }, freed),
    pathDoubt: `${best.method} ${path.path} belongs to another endpoint`,
  };
}

/** A segment at the end that tells the operation from the one that has its pair. */
function addSegment(
  path: EndpointPath,
  method: string,
  { id, httpMethod }: Operation,
  rules: PairRules,
  taken: PairSet,
): EndpointPath {
  const wanted = kebab(id ?? "") || `by-${httpMethod.toLowerCase()}`;
  const refused = new Set<string>();
  for (;;) {
    const segment = freeName(wanted, refused);
    const longer = `${path.path === "/" ? "" : path.path}/${segment}`;
    const isLegal = checkTemplate(longer, rules.names) === undefined;
    if (isLegal && isFree(method, longer, rules, taken)) return { ...path, path: longer };
    refused.add(segment);
  }
}

function describePair({ method, doubt }: MethodChoice, path: EndpointPath): AssignedPair {
  const renamed = path.renamed
    .filter(([, to]) => to !== "")
    .map(([from, to]) => `${from} is ${to}`);
  return {
    method,
    path,
    ...(doubt === undefined ? {} : { methodDoubt: doubt }),
    ...(renamed.length === 0
      ? {}
      : { pathDoubt: `${renamed.join(", ")} here, because a method has that name` }),
  };
}

function isFree(method: string, path: string, { catalog }: PairRules, taken: PairSet): boolean {
  if (checkReservation(method, path, catalog.embedded) !== undefined) return false;
  return !taken.isAmbiguous(method, path);
}
