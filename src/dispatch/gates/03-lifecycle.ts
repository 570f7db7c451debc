/**
 * May the agent act now? What it can still call is judged by the method that its alias stands for.
 * 503 suspended · 410 retired.   AGTP "Agent Lifecycle"
 */
import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { LifecycleStanding } from "../caller/caller-state.ts";
import { isExemptFromLifecycle, refuseInactive } from "../caller/inactive-agent.ts";
import type { MethodPolicy } from "../policy/method-policy.ts";
import type { Gate } from "./gate.ts";

export interface LifecycleGateOptions {
  readonly directory: Pick<AgentDirectory, "find">;
  readonly methodPolicy: Pick<MethodPolicy, "alias">;
  readonly standing: LifecycleStanding;
}

/** Looks at agents of this server, whoever vouches for them. */
export function lifecycleGate({ directory, methodPolicy, standing }: LifecycleGateOptions): Gate {
  return (exchange) => {
    const { agentId, document } = exchange.caller;
    if (agentId === undefined) return undefined;
    const refusal = refuseInactive(document ?? directory.find(agentId), standing);
    if (refusal === undefined) return undefined;
    // A redirect may lead away from what is exempt.
    exchange.inactiveRefusal = refusal;
    const method = methodPolicy.alias(exchange.method)?.method ?? exchange.method;
    return isExemptFromLifecycle(method) ? undefined : refusal;
  };
}
