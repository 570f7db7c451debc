/**
 * How the floor methods say no, as values like all refusals: `refusal.ts` has those of the pipeline.
 * AGTP "Status Codes"
 */
import { type Refusal, refusal } from "./refusal.ts";

/** 409: the task waits for a decision, and nothing is done for it until then.   AGTP "ESCALATE" */
export function taskPaused(escalationId: string): Refusal {
  const message = "the task is paused until its escalation is confirmed";
  return refusal(409, "task-paused", message, { carried: { escalation_id: escalationId } });
}
