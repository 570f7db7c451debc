/** Is the path well-formed, and free of method names?   460 · AGTP-API §5.1, §5.2 */

import { endpointViolation } from "../refusals/refusal.ts";
import type { PathCheck } from "../routes/endpoint-lookup.ts";
import type { Gate } from "./gate.ts";

/** Judges paths by catalog, legacy and custom names. */
export function pathGate(check: PathCheck): Gate {
  return ({ method, path }) => {
    const fault = check(method, path);
    return fault && endpointViolation(fault.segment, fault.message);
  };
}
