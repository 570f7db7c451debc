/**
 * Turns that come to nothing, in the words that runs carry; and whether an answer can be gone on with,
 * or is asked for once more: one that cannot be read, or whose result the agent's return schema does
 * not take.   OpenWOP RFC 0070
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { CompiledSchema } from "../../../schema/schema.ts";
import type { SchemaViolation } from "../../../schema/schema-violation.ts";
import type { AgentOutcome } from "../agent-executor.ts";
import type { Redactor } from "../redaction.ts";
import type { RuntimeAnswer, TurnRemark } from "../runtime/agent-runtime.ts";

/** A turn that failed. */
export type FailedTurn = Extract<AgentOutcome, { kind: "failed" }>;

/** One such. */
export function failedTurn(code: string, message: string, details?: JsonRecord): FailedTurn {
  return {
    kind: "failed",
    error: { code, message, ...(details === undefined ? {} : { details }) },
  };
}

/** A task or a result that its schema does not take. */
export function schemaFailure(
  code: "handoff_task_schema_violation" | "handoff_return_schema_violation",
  violations: readonly SchemaViolation[],
  redactor: Redactor,
): FailedTurn {
  const what = code === "handoff_task_schema_violation" ? "task" : "result";
  const errors = redactor.value(violations.map((one) => ({ ...one })));
  const first = violations[0];
  const where = first === undefined ? "" : `: ${first.path || "/"} ${first.message}`;
  return failedTurn(code, redactor.text(`the ${what} does not satisfy its schema${where}`), {
    errors,
  });
}

/** The words for a runtime whose result its schema does not take. */
export function remarksOnResult(
  result: unknown,
  violations: readonly SchemaViolation[],
): readonly TurnRemark[] {
  const faults = violations.map(({ path, message }) => `${path || "/"} ${message}`);
  return remarksOn(
    JSON.stringify(result),
    `The result does not satisfy the schema: ${faults.join("; ")}`,
  );
}

/** The words for a runtime that has to answer once more. */
export function remarksOn(answer: string, fault: string): readonly TurnRemark[] {
  const remark: TurnRemark = { role: "host", content: `${fault}. Answer again.` };
  // Not every server takes a message that says nothing.
  return answer === "" ? [remark] : [{ role: "agent", content: answer }, remark];
}

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
