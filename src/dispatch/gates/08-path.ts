/**
 * Gate 08. Is the path well-formed, and free of method names? 460.   AGTP-API §5.1, §5.2
 */
import type { Paced } from "../../base/paced.ts";
import type { Pair } from "../../catalog/pair.ts";
import { createPathCheck, type MethodNames, type PathFault } from "../../catalog/path-grammar.ts";
import type { EndpointRegistry } from "../../endpoint/endpoint-registry.ts";
import { endpointViolation } from "../refusals/refusal.ts";
import type { Gate } from "./gate.ts";

/** Refuses a path that breaks the grammar. */
export function pathGate(check: PathCheck): Gate {
  return ({ method, path }) => {
    const fault = check(method, path);
    return fault && endpointViolation(fault);
  };
}

/** Returns the fault of a path; undefined if it has none. */
export type PathCheck = (method: string, path: string) => PathFault | undefined;

/** Compiles the path check, one endpoint a step. */
export function* compilingPathCheck(
  names: MethodNames,
  registry: Pick<EndpointRegistry<Pair>, "entries" | "findLiteral">,
): Paced<PathCheck> {
  const check = createPathCheck(names);
  const faulty = new Set<string>();
  for (const { method, path } of registry.entries) {
    yield;
    const isLiteral = registry.findLiteral(method, path) !== undefined;
    if (isLiteral && check(path) !== undefined) faulty.add(path);
  }
  return (method, path) => {
    if (registry.findLiteral(method, path) !== undefined && !faulty.has(path)) return undefined;
    return check(path);
  };
}
