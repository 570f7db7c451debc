/**
 * CONFIRM of an escalation that a run's interrupt opened: the agent resumes with the decision's value, and only then is
 * the escalation decided. A decision that cannot be sent to the agent is not made. 403 not the caller's to decide · 409
 * decided already · 422 the value violates the schema   AGTP "CONFIRM"
 */

import { given } from "../../../base/json-value.ts";
import type { Confirmable, Confirmation } from "../../../dispatch/approvals/confirmation.ts";
import type { Refusal } from "../../../dispatch/refusals/refusal.ts";
import { recordsUnavailable } from "../../../dispatch/refusals/store-refusals.ts";
import { decisionConflict } from "../../../dispatch/refusals/task-refusals.ts";
import { floorResult } from "../../../dispatch/routes/floor.ts";
import type { CausingRequest } from "../../../dispatch/stream-events.ts";
import type { HandlerResult } from "../../../handlers/handler.ts";
import { subjectOf } from "../../../runs/interrupt-escalations.ts";
import type { Attributor } from "../../../state/records/ledger.ts";
import {
  decisionView,
  type Escalation,
  escalationView,
  isOpen,
} from "../../../state/registers/escalation.ts";
import type { EscalationRegister } from "../../../state/registers/escalation-register.ts";
import type { HostedRuns } from "../endpoints/hosted-runs.ts";
import { answerInterrupt } from "./answer-interrupt.ts";
import { INTERRUPTS, type InterruptSubject } from "./interrupt-desk.ts";

interface ConfirmableInterruptsOptions {
  readonly escalations: Pick<EscalationRegister, "find">;
  /** Tells whether decisions can be audited. */
  readonly attributor: Pick<Attributor, "isWritable" | "isInStore">;
  /** Callable agents and their runs. */
  readonly hosted: readonly HostedRuns[];
}

/** Handles CONFIRM of interrupts; other escalations are left to the next handler. */
export function confirmableInterrupts(options: ConfirmableInterruptsOptions): Confirmable {
  const { escalations } = options;
  return {
    confirm: async (confirmation, source) => {
      const escalation = escalations.find(confirmation.targetId);
      const subject = escalation && subjectOf(INTERRUPTS, escalation);
      if (escalation === undefined || subject === undefined) return undefined;
      // The generic CONFIRM handler reports who decided it.
      if (!isOpen(escalation)) return undefined;
      return decide(options, escalation, subject, confirmation, source);
    },
  };
}

async function decide(
  { escalations, attributor, hosted: all }: ConfirmableInterruptsOptions,
  escalation: Escalation,
  subject: InterruptSubject,
  confirmation: Confirmation,
  cause: CausingRequest,
): Promise<HandlerResult | Refusal> {
  const { call, exchange } = cause;
  const { escalationId } = escalation;
  const found = all
    .map((hosted) => ({ hosted, run: hosted.register.find(subject.runId) }))
    .find(({ hosted, run }) => run?.base === hosted.agent.base);
  if (found?.run === undefined) {
    const message = "the agent that asks is not served now: its answer would not reach it";
    return decisionConflict(message, { escalation_id: escalationId });
  }
  const { hosted, run } = found;
  const authority = hosted.desk.authorityOver(run, hosted.agent, exchange);
  if (typeof authority !== "string") {
    call.log.warn({ escalation_id: escalationId }, "a confirmation was refused");
    return authority;
  }
  if (!attributor.isWritable) return recordsUnavailable(attributor);
  const { status, reason, attestation } = confirmation;
  const { agentId } = exchange.caller;
  const operator = hosted.desk.operatorOf(exchange);
  const answered = await answerInterrupt(hosted, {
    ...{ runId: run.runId, interruptId: subject.interruptId, call },
    approval: {
      ...{ status, authority, cause },
      ...given({ reason, agentId, operator, attestation }),
    },
  });
  if ("refused" in answered) return answered.refused;
  await hosted.desk.settled();
  const decided = escalations.find(escalationId) ?? escalation;
  return floorResult(call, {
    ...{ target_id: escalationId, escalation_id: escalationId },
    ...(decided.decision === undefined ? {} : decisionView(decided.decision)),
    escalation: escalationView(decided),
    run: { run_id: run.runId, path: `${run.base}/runs/${run.runId}`, status: answered.run.status },
  });
}
