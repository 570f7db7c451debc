/**
 * A run's `configurable` about its agents' turns. Keys are read one by one, since callers
 * write them; a value that means nothing is passed over.   OpenWOP "Run Options"
 */
import { isFraction, type JsonRecord, wellFormed } from "../../../base/json-value.ts";
import type { Redactor } from "../../../base/redaction.ts";
import type { CompiledSchema } from "../../../schema/schema.ts";
import type { SchemaViolation } from "../../../schema/schema-violation.ts";
import { type Failure, failed } from "../agent-executor.ts";
import { VERBOSITIES, type Verbosity } from "../config.ts";
import type { ModelOptions, RuntimeAnswer, TurnRemark } from "../runtime/agent-runtime.ts";

const MAX_TEMPERATURE = 2;
const MAX_MODEL_NAME = 256;

/** `reasoningVerbosity` */
export function readVerbosity(configurable: JsonRecord): Verbosity | undefined {
  return VERBOSITIES.find((one) => one === configurable["reasoningVerbosity"]);
}

/** `model`, `temperature` and `maxTokens` */
export function readModelOptions(configurable: JsonRecord): ModelOptions {
  const { model, temperature, maxTokens } = configurable;
  const isTemperature =
    typeof temperature === "number" && temperature >= 0 && temperature <= MAX_TEMPERATURE;
  const isModel = typeof model === "string" && model !== "" && model.length <= MAX_MODEL_NAME;
  const isCount = typeof maxTokens === "number" && Number.isSafeInteger(maxTokens) && maxTokens > 0;
  return {
    ...(isModel ? { model } : {}),
    ...(isTemperature ? { temperature } : {}),
    ...(isCount ? { maxTokens } : {}),
  };
}

const USUAL_THRESHOLD = 0.7;
const LOWEST = 0;
const MAX_TOLD_LENGTH = 64;

interface Confidence {
  readonly observed: number;
  /** The value that was stated, where that is no confidence. */
  readonly stated?: string;
}

/** The threshold of a turn. */
export function resolveThreshold(ofRun: unknown, ofManifest: number | undefined): number {
  return isFraction(ofRun) ? ofRun : (ofManifest ?? USUAL_THRESHOLD);
}

/** Undefined: nothing was stated. */
export function readConfidence(value: unknown): Confidence | undefined {
  if (value === undefined || value === null || Number.isNaN(value)) return undefined;
  if (isFraction(value)) return { observed: value };
  const text = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? "");
  return { observed: LOWEST, stated: wellFormed(text.slice(0, MAX_TOLD_LENGTH)) };
}

/** A task or a result that its schema does not take. */
export function schemaFailure(
  code: "handoff_task_schema_violation" | "handoff_return_schema_violation",
  violations: readonly SchemaViolation[],
  redactor: Redactor,
): Failure {
  const what = code === "handoff_task_schema_violation" ? "task" : "result";
  const errors = redactor.value(violations.map((one) => ({ ...one })));
  const first = violations[0];
  const where = first === undefined ? "" : `: ${first.path || "/"} ${first.message}`;
  return failed(code, redactor.text(`the ${what} does not satisfy its schema${where}`), {
    errors,
  });
}

/** The words for a runtime whose result its schema does not take. */
function remarksOnResult(
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
function remarksOn(answer: string, fault: string): readonly TurnRemark[] {
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
  readonly failure: Failure;
  readonly remarks: readonly TurnRemark[];
}

/** The schemas that a result is held to. */
interface ReturnSchemas {
  readonly own: CompiledSchema | undefined;
  /** Of the agent that handed the task on. */
  readonly promised: CompiledSchema | undefined;
}

/** The answer, or what is wrong with it. A result that is handed on is not yet what `promised` describes. */
export function judgeAnswer(
  answer: Answered | Malformed,
  { own, promised }: ReturnSchemas,
  redactor: Redactor,
): Answered | Objection {
  if (answer.kind === "malformed") {
    const { content, message } = answer;
    const failure = failed("model_malformed_response", redactor.text(message));
    return { kind: "objection", failure, remarks: remarksOn(content, message) };
  }
  const { result, handoff } = answer;
  const violations =
    own?.check(result) ?? (handoff === undefined ? promised?.check(result) : undefined);
  if (violations === undefined) return answer;
  const failure = schemaFailure("handoff_return_schema_violation", violations, redactor);
  return { kind: "objection", failure, remarks: remarksOnResult(result, violations) };
}
