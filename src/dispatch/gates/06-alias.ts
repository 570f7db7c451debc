/**
 * Is the method another name for one of this server's? One hop, never two; the wire's name stays
 * readable as `requestedMethod`. Refuses nothing.   AGTP-API §9.2 "aliases", §3.6
 */

import type { MethodPolicy } from "../policy/method-policy.ts";
import { translateMethod } from "../routes/endpoint-lookup.ts";
import type { Gate } from "./gate.ts";

/** Looks into the compiled alias table. */
export function aliasGate(policy: MethodPolicy): Gate {
  return (exchange) => {
    translateMethod(exchange, policy);
    return undefined;
  };
}
