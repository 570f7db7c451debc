/**
 * Tells whether an answer can be gone on with, or is asked for once more: one that cannot be read,
 * or whose result the agent's return schema does not take.   OpenWOP RFC 0070
 */
import type { CompiledSchema } from "../../../schema/schema.ts";
import type { Redactor } from "../redaction.ts";
import type { RuntimeAnswer, TurnRemark } from "../runtime/agent-runtime.ts";
import {
  type FailedTurn,
  failedTurn,
  remarksOn,
  remarksOnResult,
  schemaFailure,
} from "./outcome.ts";

/** An answer that a turn can end with. */
export type Answered = Extract<RuntimeAnswer, { kind: "answered" }>;

/** An answer that nobody can read. */
export type Malformed = Extract<RuntimeAnswer, { kind: "malformed" }>;

/** Why an answer is asked for once more, and what the turn comes to if it was the last. */
interface Objection {
  readonly kind: "objection";
  readonly failure: FailedTurn;
  readonly remarks: readonly TurnRemark[];
}

/** The answer, or what is wrong with it. */
export function judgeAnswer(
  answer: Answered | Malformed,
  schema: CompiledSchema | undefined,
  redactor: Redactor,
): Answered | Objection {
  if (answer.kind === "malformed") {
    const { content, message } = answer;
    const failure = failedTurn("model_malformed_response", redactor.text(message));
    return { kind: "objection", failure, remarks: remarksOn(content, message) };
  }
  const { result } = answer;
  const violations = schema?.check(result);
  if (violations === undefined) return answer;
  const failure = schemaFailure("handoff_return_schema_violation", violations, redactor);
  return { kind: "objection", failure, remarks: remarksOnResult(result, violations) };
}
