/** The refusals of SUMMARIZE and PLAN when they have no answer.   AGTP "SUMMARIZE", "PLAN" */
import { type Refusal, refusal } from "./refusal.ts";

/** 422: a source that this server does not read, whoever asks. */
export function sourceRefused(message: string): Refusal {
  return refusal(422, "source-refused", message);
}

/** 422: a source that was asked for in vain, or has nothing in it. */
export function sourceUnreadable(message: string, details?: unknown): Refusal {
  return refusal(422, "source-unreadable", message, { details });
}

/** 422: nothing that the caller may call leads to its goal. */
export function noPlan(explanation: string, more: Readonly<Record<string, unknown>> = {}): Refusal {
  const carried = { reason: "no-plan", explanation, ...more };
  return refusal(422, "no-plan", explanation, { carried });
}
