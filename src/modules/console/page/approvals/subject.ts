/** The subject of an escalation: the call that waits, or the context that its agent gave. */
import type { Escalation } from "../answers.ts";

/** The call of an approval, as its digest is taken. */
export type ApprovedCall = Readonly<Record<string, unknown>>;

/** The call that waits; undefined for another kind of question. */
export function callOf({ context }: Escalation): ApprovedCall | undefined {
  const call = isObject(context) ? context["call"] : undefined;
  return isObject(call) ? call : undefined;
}

/** An escalation in one line. */
export function subjectOf(escalation: Escalation): string {
  const call = callOf(escalation);
  if (call !== undefined) return `${String(call["method"])} ${String(call["path"])}`;
  const { kind = "question", reason } = escalation;
  return reason === undefined ? kind : `${kind}: ${reason.replaceAll("_", " ")}`;
}

/** Tells whether a value is a JSON object. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
