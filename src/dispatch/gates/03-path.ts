/** Gate 03. Is the path well-formed, and free of method names?   460 · AGTP-API §5.1, §5.2 */
import { checkPath, type MethodNames } from "../../catalog/path-grammar.ts";
import { endpointViolation } from "../refusal.ts";
import type { Gate } from "./gate.ts";

/**
 * Gate 03 over catalog, legacy and custom names. Most requests are for one of the literal paths
 * that the server `serves`, which need to be judged once only.
 */
export function pathGate(names: MethodNames, serves: Iterable<string> = []): Gate {
  const judged = new Set<string>();
  for (const path of serves) {
    if (checkPath(path, names) === undefined) judged.add(path);
  }
  return ({ path }) => {
    if (judged.has(path)) return undefined;
    const fault = checkPath(path, names);
    return fault && endpointViolation(fault.segment, fault.message);
  };
}
