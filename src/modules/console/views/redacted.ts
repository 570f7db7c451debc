/** Inputs of calls, which viewers of the console do not see. */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { Role } from "../person.ts";

const CONCEALED = "[operators only]";

/** An escalation as a person of this role sees it. */
export function escalationFor(escalation: JsonRecord, role: Role): JsonRecord {
  if (role === "operator") return escalation;
  const { context, decision } = escalation;
  return {
    ...escalation,
    ...(context === undefined ? {} : { context: concealed(context) }),
    ...(isRecord(decision) && "content" in decision
      ? { decision: { ...decision, content: CONCEALED } }
      : {}),
  };
}

/** Of a call everything but its input; of whatever else an agent wrote, nothing. */
function concealed(context: unknown): unknown {
  if (!isRecord(context)) return CONCEALED;
  const { kind, call } = context;
  return {
    ...(typeof kind === "string" ? { kind } : {}),
    ...(isRecord(call) ? { call: { ...call, input: CONCEALED } } : {}),
  };
}
