/**
 * Gate 01. Is the method another name for one of this server's? One hop, never two; the wire's
 * name stays readable as `requestedMethod`. Refuses nothing.   AGTP-API §9.2 "aliases", §3.6
 */
import type { MethodPolicy } from "../method-policy.ts";
import type { Gate } from "./gate.ts";

/** Gate 01 over the compiled alias table. */
export function aliasGate(policy: MethodPolicy): Gate {
  return (exchange) => {
    const alias = policy.alias(exchange.method);
    if (alias === undefined) return undefined;
    exchange.method = alias.method;
    exchange.mappedParameters = alias.parameters;
    const key = alias.takesIdempotencyKey ? exchange.header("idempotency-key") : undefined;
    if (key !== undefined) exchange.mappedParameters = { idempotency_key: key };
    return undefined;
  };
}
