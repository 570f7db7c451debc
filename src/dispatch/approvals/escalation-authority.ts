/**
 * Judges who may see an escalation and who may decide it: operators, and the agent it was sent to.
 * The agent that escalated may never decide, nor may one that delegated the work to it, whatever
 * scopes they hold. A call that needs an approval, and a changed tool, are decided by an operator's
 * certificate alone, and by no agent's scope.   AGTP "CONFIRM"
 */
import { changedToolOf } from "../../handlers/mcp/changed-tool.ts";
import type { Decision, Escalation } from "../../state/registers/escalation.ts";
import { INSPECT_ALL, seesAll } from "../caller/caller.ts";
import { delegatorsOf } from "../caller/delegation.ts";
import { type OperatorPolicy, operatorOf } from "../caller/operator.ts";
import { isOwnMatter } from "../caller/own-matter.ts";
import type { QueryCaller } from "../module/query-source.ts";
import type { Refusal } from "../refusals/refusal.ts";
import { confirmationForbidden } from "../refusals/task-refusals.ts";
import { principalOf } from "./approved-call.ts";

/** Tells whether the asker is an operator, by its certificate or by the scope of operators. */
export function isOperating({ caller, peer }: QueryCaller, policy: OperatorPolicy): boolean {
  return operatorOf(peer, policy) !== undefined || seesAll(caller);
}

/** Tells whether the asker may see an escalation: its own, sent to it, or as an operator. */
export function maySee(
  escalation: Escalation,
  asker: QueryCaller,
  policy: OperatorPolicy,
): boolean {
  const { agentId, recipient } = escalation;
  const own = asker.caller.agentId;
  const isAsked = own !== undefined && own === recipient;
  const isOwn = own === agentId && isOwnMatter({ principalId: principalOf(escalation) }, asker);
  return isOwn || isAsked || isApprover(escalation, asker) || isOperating(asker, policy);
}

/** Returns the authority by which the asker may decide, or the refusal. */
export function authorityOver(
  escalation: Escalation,
  asker: QueryCaller,
  policy: OperatorPolicy,
): Decision["authority"] | Refusal {
  const { agentId, recipient, delegatedBy = [] } = escalation;
  const own = asker.caller.agentId;
  // The certificate alone does not help either, since it may be an operator's as well.
  if ((own ?? asker.caller.certifiedAs) === agentId) {
    return confirmationForbidden("the agent that escalated may not decide its own escalation");
  }
  const asking = [agentId, ...delegatedBy];
  if (speakersOf(asker).some((speaker) => asking.includes(speaker))) {
    const message = "no agent decides through another one, nor what another one asks for it";
    return confirmationForbidden(message);
  }
  if (operatorOf(asker.peer, policy) !== undefined) return "operator";
  if (escalation.approval !== undefined) {
    return confirmationForbidden("approving a call needs an operator's certificate");
  }
  if (changedToolOf(escalation) !== undefined) {
    return confirmationForbidden("a definition is an operator's to accept, by a certificate");
  }
  if (seesAll(asker.caller)) return "operator";
  if (own !== undefined && own === recipient) return "recipient";
  if (isApprover(escalation, asker)) return "approver";
  return confirmationForbidden(
    `this needs an operator's certificate, ${INSPECT_ALL}, or to be the recipient`,
  );
}

/** Returns the asker and the agents that delegated to it. */
function speakersOf({ caller }: QueryCaller): readonly string[] {
  const { agentId = caller.certifiedAs } = caller;
  return agentId === undefined ? delegatorsOf(caller) : [agentId, ...delegatorsOf(caller)];
}

/** Tells whether the asker holds the approver's scope. An unknown agent's claim grants nothing. */
function isApprover({ approverScope }: Escalation, { caller }: QueryCaller): boolean {
  const isKnown = caller.document !== undefined && approverScope !== undefined;
  return isKnown && caller.authority.covers(approverScope);
}
