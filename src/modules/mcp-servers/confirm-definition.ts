/**
 * CONFIRM of a tool's changed definition: an operator's word alone makes it the one that counts.
 * 403 the caller is no operator; the rest is as for every escalation.   AGTP "CONFIRM"
 */
import type { ApprovalKind } from "../../dispatch/approvals/approval-kind.ts";
import { readConfirmation } from "../../dispatch/approvals/confirmation.ts";
import { type OperatorPolicy, operatorOf } from "../../dispatch/operator.ts";
import { confirmationForbidden } from "../../dispatch/refusals/floor-refusals-tasks.ts";
import type { EscalationRegister } from "../../state/registers/escalation-register.ts";
import type { DefinitionWatch } from "./definition-watch.ts";

/** The parts of a decision, and what it changes. */
export interface ConfirmDefinitionOptions {
  readonly escalations: Pick<EscalationRegister, "find">;
  readonly watch: Pick<DefinitionWatch, "changedToolOf" | "settle">;
  readonly policy: OperatorPolicy;
  /** All that CONFIRM decides, escalations among them. */
  approvals(): readonly ApprovalKind[];
}

/** Changed definitions, as CONFIRM sees them. */
export function confirmableDefinitions(options: ConfirmDefinitionOptions): ApprovalKind {
  const { escalations, watch, policy } = options;
  const kind: ApprovalKind = {
    confirm: async (call, exchange) => {
      const confirmation = readConfirmation(call);
      if ("kind" in confirmation) return undefined;
      const before = escalations.find(confirmation.targetId);
      if (before === undefined || watch.changedToolOf(before) === undefined) return undefined;
      if (operatorOf(exchange.peer, policy) === undefined) {
        return confirmationForbidden("a definition is an operator's to accept, by a certificate");
      }
      for (const other of options.approvals()) {
        const answer = other === kind ? undefined : await other.confirm(call, exchange);
        if (answer === undefined) continue;
        const after = escalations.find(before.escalationId);
        if (after !== undefined) await watch.settle(after);
        return answer;
      }
      return undefined;
    },
  };
  return kind;
}
