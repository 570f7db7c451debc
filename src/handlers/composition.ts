/**
 * Compositions: an endpoint whose behaviour is a recipe. Its steps run in order, each through the
 * dispatcher with the caller's identity and no more authority; the first that does not succeed ends
 * it with `composition_failed`.   AGTP-API §12.1
 */
import { isRecord } from "../base/json-value.ts";
import type { Aggregation, Recipe, RecipeStep } from "../endpoint/recipe.ts";
import { isSuccess } from "../wire/message.ts";
import type { Call, DispatchResult, Handler, HandlerError } from "./handler.ts";
import { prepareStep } from "./step-input.ts";

/** Tells whether the server itself answers a pair, with no endpoint registered for it. */
export type FloorCheck = (method: string, path: string) => boolean;

/** The failure of a step; `status` is null when it was never dispatched. */
interface StepFailure {
  readonly path: string;
  readonly status: number | null;
  readonly error: unknown;
  readonly message: string;
}

/** The handler that runs a recipe; floor methods live at "/" unless told otherwise. */
export function createComposition(
  recipe: Recipe,
  isFloor: FloorCheck = (_, path) => path === "/",
): Handler {
  return async (call) => {
    const captured = new Map<string, unknown>();
    const outputs: StepOutput[] = [];
    for (const [index, step] of recipe.steps.entries()) {
      const outcome = await runStep(step, call, captured, isFloor);
      if ("message" in outcome) return compositionFailed(recipe, index, outcome, captured);
      if (step.captureAs !== undefined) captured.set(step.captureAs, outcome.value);
      outputs.push({ name: step.captureAs ?? `step_${index + 1}`, value: outcome.value });
    }
    return { body: aggregate(recipe.aggregation, outputs) };
  };
}

async function runStep(
  step: RecipeStep,
  call: Call,
  captured: ReadonlyMap<string, unknown>,
  isFloor: FloorCheck,
): Promise<StepFailure | { readonly value: unknown }> {
  const prepared = prepareStep(step, { input: call.input, captured });
  if (prepared.fault !== undefined) return notDispatched(step, "invalid-step", prepared.fault);
  if (call.signal.aborted) return notDispatched(step, "aborted", "the call was aborted");
  const { path } = prepared;
  const result = await dispatchStep(call, step.method, path, prepared.input);
  if (isSuccess(result.status)) {
    return { value: outputOf(result.body, isFloor(step.method, path)) };
  }
  const error = isRecord(result.body) ? (result.body["error"] ?? null) : null;
  return { path, status: result.status, error, message: `answered ${result.status}` };
}

/** A fault below is a step that failed: the caller learns which, the log learns why. */
async function dispatchStep(
  call: Call,
  method: string,
  path: string,
  input: Readonly<Record<string, unknown>>,
): Promise<DispatchResult> {
  try {
    return await call.dispatch(method, path, input);
  } catch (error) {
    call.log.error({ err: error, method, path }, "a composition step threw");
    return { status: 500, headers: {}, body: undefined };
  }
}

function notDispatched(step: RecipeStep, code: string, message: string): StepFailure {
  return { path: step.path, status: null, error: { code, message }, message };
}

/** A floor method wraps what it has to say: `{ status, task_id?, result }`. */
function outputOf(body: unknown, isFloor: boolean): unknown {
  if (body === undefined) return {};
  const isWrapped =
    isFloor &&
    isRecord(body) &&
    typeof body["status"] === "number" &&
    Object.hasOwn(body, "result");
  return isWrapped ? body["result"] : body;
}

function compositionFailed(
  recipe: Recipe,
  index: number,
  { path, status, error, message }: StepFailure,
  captured: ReadonlyMap<string, unknown>,
): HandlerError {
  const step = index + 1;
  const method = recipe.steps[index]?.method;
  const outputs = Object.fromEntries(captured);
  return {
    error: "composition_failed",
    message: `step ${step} (${method} ${path}): ${message}`,
    details: { recipe: recipe.name, step, method, path, status, error, outputs },
  };
}

/** The output of one step. */
interface StepOutput {
  /** Its capture name, else `step_N`. */
  readonly name: string;
  readonly value: unknown;
}

/** The body of a composition whose steps all succeeded. */
export function aggregate(aggregation: Aggregation, outputs: readonly StepOutput[]): unknown {
  if (typeof aggregation !== "string") return pickMembers(aggregation.members, outputs);
  switch (aggregation) {
    case "last":
      return outputs.at(-1)?.value ?? {};
    case "merge":
      return mergeOutputs(outputs);
    case "list":
      return { results: outputs.map(({ value }) => value) };
  }
}

/** Later members win; what is no object stands under its step's name. */
function mergeOutputs(outputs: readonly StepOutput[]): Record<string, unknown> {
  // fromEntries defines properties, so a member "__proto__" is a member like any other.
  return Object.fromEntries(
    outputs.flatMap(({ name, value }): [string, unknown][] =>
      isRecord(value) ? Object.entries(value) : [[name, value]],
    ),
  );
}

/** Picks members of step outputs; a member that a step leaves out is left out of the body. */
function pickMembers(
  members: Readonly<Record<string, string>>,
  outputs: readonly StepOutput[],
): Record<string, unknown> {
  const values = new Map(outputs.map(({ name, value }) => [name, value]));
  return Object.fromEntries(
    Object.entries(members).flatMap(([member, name]): [string, unknown][] => {
      const value = values.get(name);
      return isRecord(value) && Object.hasOwn(value, member) ? [[member, value[member]]] : [];
    }),
  );
}
