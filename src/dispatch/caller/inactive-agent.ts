/** Agents that may not act: suspended for a while, or retired for good.   AGTP "Agent Lifecycle" */
import type { AgentDocument } from "../../identity/agent-document.ts";
import { agentRetired, agentSuspended, type Refusal } from "../refusals/refusal.ts";
import type { LifecycleStanding } from "./caller-state.ts";

/** Methods that an agent which may not act can still call: how else would it come back? */
const EXEMPT: ReadonlySet<string> = new Set([
  ...["ACTIVATE", "DEACTIVATE", "REINSTATE", "REVOKE", "DEPRECATE"],
  ...["INSPECT", "DESCRIBE", "DISCOVER"],
]);

/** Tells whether the method is answered whatever the caller's state. */
export function isExemptFromLifecycle(method: string): boolean {
  return EXEMPT.has(method);
}

/** Why an agent may not act now; undefined when it may. */
export function refuseInactive(
  document: AgentDocument | undefined,
  standing: LifecycleStanding,
): Refusal | undefined {
  if (document === undefined) return undefined;
  const status = standing.statusOf(document);
  if (status === "suspended") return agentSuspended(document.agentId);
  if (status === "retired") return agentRetired(document.agentId, standing.statusSince(document));
  return undefined;
}
