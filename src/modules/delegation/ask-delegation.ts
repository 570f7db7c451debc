/**
 * QUERY /delegations/{delegation_id}: a task that was handed on with a callback, as the agent that did
 * so, or whoever sees everything, may ask for it while it runs and for a day after its outcome was
 * delivered. 404 none that the caller may see.   AGTP "DELEGATE"
 */

import { seesAll } from "../../dispatch/caller/caller.ts";
import { notFound } from "../../dispatch/refusals/refusal.ts";
import { floorResult } from "../../dispatch/routes/floor-result.ts";
import type { ProtocolEndpoint } from "../../dispatch/routes/protocol-endpoint.ts";
import type { ExchangeView } from "../../dispatch/routes/route.ts";
import { isSuccess } from "../../wire/message.ts";
import type { DelegationRegister, KeptDelegation } from "./register.ts";

/** The place where a delegation can be asked for. */
export function pollOf(id: string): { readonly method: string; readonly path: string } {
  return { method: "QUERY", path: `/delegations/${id}` };
}

/** The endpoint. */
export function delegationEndpoint(register: Pick<DelegationRegister, "find">): ProtocolEndpoint {
  return {
    ...{ method: "QUERY", path: "/delegations/{delegation_id}" },
    description: "Returns how a task stands that was handed on with a callback, and its outcome.",
    ...{ capability: "retrieval", impact: "informational", isReading: true, isListed: false },
    inputSchema: {
      type: "object",
      properties: { delegation_id: { type: "string", minLength: 1, maxLength: 128 } },
    },
    looksUp: ["delegation_id"],
    handler: (call, exchange) => {
      const delegation = register.find(String(call.input["delegation_id"]));
      if (delegation === undefined || !maySee(delegation, exchange)) {
        return notFound("record-not-found", "no delegation of the caller has this id");
      }
      return floorResult(call, viewOf(delegation));
    },
  };
}

function maySee({ agentId }: KeptDelegation, { caller }: ExchangeView): boolean {
  return caller.document?.agentId === agentId || seesAll(caller);
}

function viewOf(delegation: KeptDelegation) {
  const { id, target, action, taskId, callback, outcome, delivery } = delegation;
  return {
    ...{ delegation_id: id, target_agent_id: target, action },
    ...(taskId === undefined ? {} : { task_id: taskId }),
    state: stateOf(delegation),
    ...outcome?.body,
    ...(outcome === undefined ? {} : { prior_actions: outcome.priorActions }),
    callback,
    delivery: delivery === undefined ? "pending" : delivery.isDelivered ? "delivered" : "failed",
  };
}

function stateOf({ outcome }: KeptDelegation): "running" | "completed" | "failed" {
  if (outcome === undefined) return "running";
  return isSuccess(outcome.status) ? "completed" : "failed";
}
