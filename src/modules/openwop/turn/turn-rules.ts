/**
 * Reads the turn options in a run's `configurable`. Callers write it, so each key is validated alone and an invalid
 * value is ignored.   OpenWOP "Run Options"
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

/** Reads `reasoningVerbosity`. */
export function readVerbosity(configurable: JsonRecord): Verbosity | undefined {
  return VERBOSITIES.find((one) => one === configurable["reasoningVerbosity"]);
}

/** Reads `model`, `temperature` and `maxTokens`. */
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
  /** The stated value, if it is not a valid confidence. */
  readonly stated?: string;
}

/** The confidence threshold of a turn: the run's, the manifest's or the default. */
export function resolveThreshold(ofRun: unknown, ofManifest: number | undefined): number {
  return isFraction(ofRun) ? ofRun : (ofManifest ?? USUAL_THRESHOLD);
}

/** Undefined if no confidence was stated. */
export function readConfidence(value: unknown): Confidence | undefined {
  if (value === undefined || value === null || Number.isNaN(value)) return undefined;
  if (isFraction(value)) return { observed: value };
  const text = typeof value === "number" ? String(value) : (JSON.stringify(value) ?? "");
  return { observed: LOWEST, stated: wellFormed(text.slice(0, MAX_TOLD_LENGTH)) };
}

/** The failure of a task or result that violates its schema. */
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

/** The remarks to a runtime whose result violates the schema. */
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

/** The remarks to a runtime that must answer again. */
function remarksOn(answer: string, fault: string): readonly TurnRemark[] {
  const remark: TurnRemark = { role: "host", content: `${fault}. Answer again.` };
  // Some servers reject empty messages.
  return answer === "" ? [remark] : [{ role: "agent", content: answer }, remark];
}

/** A readable answer. */
export type Answered = Extract<RuntimeAnswer, { kind: "answered" }>;

/** An unreadable answer. */
export type Malformed = Extract<RuntimeAnswer, { kind: "malformed" }>;

/** The remarks for another attempt, and the failure if this was the last. */
interface Objection {
  readonly kind: "objection";
  readonly failure: Failure;
  readonly remarks: readonly TurnRemark[];
}

/** The schemas that a result must satisfy. */
interface ReturnSchemas {
  readonly own: CompiledSchema | undefined;
  /** The return schema of the agent that handed the task on. */
  readonly promised: CompiledSchema | undefined;
}

/** Returns the answer, or the objection to it. `promised` is not required of a result that is handed on. */
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
