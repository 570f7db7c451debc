/** Gate 03. Is the path well-formed, and free of method names?   460 · AGTP-API §5.1, §5.2 */
import { checkPath, type MethodNames } from "../../catalog/path-grammar.ts";
import type { EndpointRegistry, RouteEntry } from "../../endpoint/endpoint-registry.ts";
import { endpointViolation } from "../refusal.ts";
import type { Gate } from "./gate.ts";

type LiteralPaths = Pick<EndpointRegistry<RouteEntry>, "entries" | "findLiteral">;

/**
 * Gate 03 over catalog, legacy and custom names. Most requests are for a literal path of the
 * `registry`, which needs to be judged once only.
 */
export function pathGate(names: MethodNames, registry: LiteralPaths): Gate {
  const faulty = new Set<string>();
  for (const { method, path } of registry.entries) {
    const isLiteral = registry.findLiteral(method, path) !== undefined;
    if (isLiteral && checkPath(path, names) !== undefined) faulty.add(path);
  }
  return ({ method, path }) => {
    if (registry.findLiteral(method, path) !== undefined && !faulty.has(path)) return undefined;
    const fault = checkPath(path, names);
    return fault && endpointViolation(fault.segment, fault.message);
  };
}
