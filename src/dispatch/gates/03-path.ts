/** Gate 03. Is the path well-formed, and free of method names?   460 · AGTP-API §5.1, §5.2 */
import { checkPath, type MethodNames } from "../../catalog/path-grammar.ts";
import { endpointViolation } from "../refusal.ts";
import type { Gate } from "./gate.ts";

/** Gate 03 over catalog, legacy and custom names. */
export function pathGate(names: MethodNames): Gate {
  return (exchange) => {
    const fault = checkPath(exchange.path, names);
    return fault && endpointViolation(fault.segment, fault.message);
  };
}
