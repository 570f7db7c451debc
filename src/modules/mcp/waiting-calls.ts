/** Calls that wait for an operator, by their escalations, and whether each still waits. */
import { isRecord } from "../../base/json-value.ts";
import { isOpen } from "../../state/escalation.ts";
import type { EscalationRegister } from "../../state/escalation-register.ts";
import type { McpFront } from "./front.ts";
import type { AskedCall } from "./task.ts";

/** Over the escalations of a server. */
export function waitingCalls(
  escalations: Pick<EscalationRegister, "find">,
): Pick<McpFront, "approvedCallOf" | "isUndecided"> {
  return {
    approvedCallOf: (escalationId, agentId) => {
      const escalation = escalations.find(escalationId);
      if (escalation?.approval === undefined || escalation.agentId !== agentId) return undefined;
      return readCall(escalation.context);
    },
    isUndecided: (escalationId) => {
      const escalation = escalations.find(escalationId);
      return escalation !== undefined && isOpen(escalation, Date.now());
    },
  };
}

function readCall(context: unknown): AskedCall | undefined {
  const call = isRecord(context) ? context["call"] : undefined;
  if (!isRecord(call)) return undefined;
  const { method, path, input } = call;
  if (typeof method !== "string" || typeof path !== "string" || !isRecord(input)) return undefined;
  return { method, path, input };
}
