/**
 * Gate 06. Is the method an alias? One hop, never two; the wire's name stays available as
 * `requestedMethod`. Refuses nothing.   AGTP-API §9.2 "aliases", §3.6
 */
import type { Exchange } from "../exchange.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import type { Gate } from "./gate.ts";

/** Resolves the method by the compiled alias table. */
export function aliasGate(policy: MethodPolicy): Gate {
  return (exchange) => {
    translateMethod(exchange, policy);
    return undefined;
  };
}

/** Replaces an alias by its method, and adds the mapped parameters. */
export function translateMethod(exchange: Exchange, policy: Pick<MethodPolicy, "alias">): void {
  const alias = policy.alias(exchange.method);
  if (alias === undefined) return;
  exchange.method = alias.method;
  exchange.mappedParameters = alias.parameters;
  const key = alias.takesIdempotencyKey ? exchange.header("idempotency-key") : undefined;
  if (key !== undefined) exchange.mappedParameters = { idempotency_key: key };
}
