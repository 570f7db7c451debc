/**
 * The hash of what a task effectively is: everything that decides what is run, under whom and under
 * what conditions. An approval is for this and nothing else.   agentcli spec "Approvals"
 */
import type { JsonRecord } from "../../../json-value.ts";
import { canonicalDigest } from "../canonical-digest.ts";
import type { TaskPlan } from "../compile/task-plan.ts";

/** `sha256:…` of a plan. */
export function taskHash(plan: TaskPlan): string {
  const { id, source, execution, identity, contract, authorization, verify, runtime } = plan;
  const effective: JsonRecord = {
    ...{ id, source, execution, identity, contract, authorization, verify, runtime },
    authorization_proof: plan.authorization_proof,
    approval: plan.approval,
  };
  return canonicalDigest(effective);
}
