/**
 * A task as it is written: one call, or a sequence of calls. Each names a pair (`method`, `path`) or
 * an action as EXECUTE takes them. Its hash binds a token to it.   AGTP "DELEGATE"
 */

import { isRecord, type JsonRecord, quoteValue } from "../../base/json-value.ts";
import { type Refusal, schemaViolation } from "../../dispatch/refusals/refusal.ts";
import { canonicalForm, sha256Hex } from "../../identity/canonical-form.ts";
import { describeAction } from "./action.ts";
import { type ExecutionRequest, readExecution } from "./execute-request.ts";

/** A task, taken apart. */
export interface Task {
  /** One at least. */
  readonly steps: readonly ExecutionRequest[];
  /** False: the one step's result is the task's. */
  readonly isSequence: boolean;
}

const MAX_STEPS = 32;

/** Reads a task; 422 names the member that is wrong. */
export function readTask(value: unknown): Task | Refusal {
  const written = Array.isArray(value) ? value : sequenceOf(value);
  if (written === undefined) {
    const step = readStep(value, "/task");
    return "kind" in step ? step : { steps: [step], isSequence: false };
  }
  if (!Array.isArray(written) || written.length === 0 || written.length > MAX_STEPS) {
    return violation("/task", `must be a call, or a sequence of 1 to ${MAX_STEPS} calls`);
  }
  const steps: ExecutionRequest[] = [];
  for (const [index, one] of written.entries()) {
    const step = readStep(one, `/task/${index}`);
    if ("kind" in step) return step;
    steps.push(step);
  }
  return { steps, isSequence: true };
}

function sequenceOf(value: unknown): unknown {
  return isRecord(value) ? (value["steps"] ?? value["sequence"]) : undefined;
}

function readStep(value: unknown, place: string): ExecutionRequest | Refusal {
  if (!isRecord(value)) return violation(place, `must be a call, got ${quoteValue(value)}`);
  const { method, path = "/", input, parameters = input } = value;
  if (method === undefined || value["action"] !== undefined) return readExecution(value);
  // The action that EXECUTE would dispatch is the step itself.
  if (method === "EXECUTE" && path === "/" && isRecord(parameters))
    return readExecution(parameters);
  return readExecution({
    action: { method, path },
    ...(parameters === undefined ? {} : { parameters }),
  });
}

/** As a task is named in a run. */
export function describeTask({ steps }: Task): string {
  const [first, ...others] = steps.map(({ action }) => describeAction(action));
  return others.length === 0 ? (first ?? "") : `${first} and ${others.length} more`;
}

/** `sha256:` and the hash of the task's canonical form; undefined for what has none. */
export function taskHash(task: unknown): string | undefined {
  try {
    return `sha256:${sha256Hex(canonicalForm({ task } satisfies JsonRecord))}`;
  } catch {
    // Numbers that are not finite and lone surrogates have no canonical form.
    return undefined;
  }
}

function violation(path: string, message: string): Refusal {
  return schemaViolation([{ path, keyword: "type", message }]);
}
