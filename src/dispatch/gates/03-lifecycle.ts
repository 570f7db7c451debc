/**
 * Gate 03. May the agent act now, and may its delegators? Exempt methods are judged after aliases.
 * 503 suspended · 410 retired.   AGTP "Agent Lifecycle"
 */
import { isExemptFromLifecycle } from "../../catalog/catalog.ts";
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { Caller } from "../caller/caller.ts";
import type { CallerState } from "../caller/caller-state.ts";
import { type MethodPolicy, resolveMethod } from "../policy/method-policy.ts";
import { agentRetired, agentSuspended, type Refusal } from "../refusals/refusal.ts";
import type { Gate } from "./gate.ts";

interface LifecycleGateOptions {
  readonly directory: Pick<AgentDirectory, "find">;
  readonly methodPolicy: Pick<MethodPolicy, "alias">;
  readonly lifecycle: CallerState["lifecycle"];
}

/** Checks this server's agents, even if somebody else vouches for them. */
export function lifecycleGate(options: LifecycleGateOptions): Gate {
  const { methodPolicy } = options;
  return (exchange) => {
    const refusal = refuseInactiveCaller(exchange.caller, options);
    if (refusal === undefined) return undefined;
    // Kept for gate 11, since a redirect may lead from an exempt method to another.
    exchange.inactiveRefusal = refusal;
    const method = resolveMethod(methodPolicy, exchange.method);
    return isExemptFromLifecycle(method) ? undefined : refusal;
  };
}

/** Refuses a caller that is inactive itself, or works for an inactive agent of this server. */
export function refuseInactiveCaller(
  { agentId, document, delegation }: Caller,
  { directory, lifecycle }: Pick<LifecycleGateOptions, "directory" | "lifecycle">,
): Refusal | undefined {
  const own = document ?? (agentId === undefined ? undefined : directory.find(agentId));
  const refusal = refuseInactive(own, lifecycle);
  if (refusal !== undefined || delegation === undefined) return refusal;
  for (const link of delegation.links) {
    const inactive = refuseInactive(directory.find(link.agentId), lifecycle);
    if (inactive !== undefined) return inactive;
  }
  return undefined;
}

/** Refuses an agent that is suspended or retired. */
export function refuseInactive(
  document: AgentDocument | undefined,
  lifecycle: CallerState["lifecycle"],
): Refusal | undefined {
  if (document === undefined) return undefined;
  const status = lifecycle.statusOf(document);
  if (status === "suspended") return agentSuspended(document.agentId);
  if (status === "retired") return agentRetired(document.agentId, lifecycle.statusSince(document));
  return undefined;
}
