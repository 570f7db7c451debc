/**
 * Compositions: an endpoint whose behaviour is a recipe. Its steps run in order, each through the
 * dispatcher with the caller's identity and no more authority; the first step that fails ends it
 * with `composition_failed`.   AGTP-API §12.1
 */
import { rewriteExactly } from "../base/exact-numbers.ts";
import { isRecord, isStructure, type JsonRecord } from "../base/json-value.ts";
import { shareEncoded, sourceOf } from "../base/kept-text.ts";
import { templateNames } from "../base/template.ts";
import { fillPath } from "../endpoint/path-template.ts";
import type { Aggregation, ParameterSource, Recipe, RecipeStep } from "../endpoint/recipe.ts";
import { isSuccess } from "../wire/message.ts";
import type { Call, DispatchResult, Handler, HandlerError } from "./handler.ts";

/** Returns true if the server itself answers a method and path, without a registered endpoint. */
export type FloorCheck = (method: string, path: string) => boolean;

/** The failure of a step; `status` is null when it was never dispatched. */
interface StepFailure {
  readonly path: string;
  readonly status: number | null;
  readonly error: unknown;
  readonly message: string;
}

/** Creates the handler that runs a recipe; floor methods live at "/" unless told otherwise. */
export function createComposition(
  recipe: Recipe,
  isFloor: FloorCheck = (_, path) => path === "/",
): Handler {
  return async (call) => {
    const captured = new Map<string, unknown>();
    const outputs: StepOutput[] = [];
    for (const [index, step] of recipe.steps.entries()) {
      // Why not before the first step: reading the call's signal creates it.
      if (index > 0 && call.signal.aborted) {
        const failure = notDispatched(step, "aborted", "the call was aborted");
        return compositionFailed(recipe, index, failure, captured);
      }
      const outcome = await runStep(step, call, captured, isFloor);
      if ("message" in outcome) return compositionFailed(recipe, index, outcome, captured);
      if (step.captureAs !== undefined) captured.set(step.captureAs, outcome.value);
      outputs.push({ name: step.captureAs ?? `step_${index + 1}`, value: outcome.value });
    }
    return { body: bodyOf(recipe.aggregation, outputs) };
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
  const { path } = prepared;
  const result = await dispatchStep(call, step.method, path, prepared.input);
  if (isSuccess(result.status)) {
    return { value: outputOf(result.body, isFloor(step.method, path)) };
  }
  const error = isRecord(result.body) ? (result.body["error"] ?? null) : null;
  return { path, status: result.status, error, message: `answered ${result.status}` };
}

/** A fault below fails the step: the caller learns which step, the log learns why. */
async function dispatchStep(
  call: Call,
  method: string,
  path: string,
  input: JsonRecord,
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

/** Unwraps the body of a floor method: `{ status, task_id?, result }`. */
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

interface StepOutput {
  /** The step's capture name, else `step_N`. */
  readonly name: string;
  readonly value: unknown;
}

/** The body of the composition, with numbers exactly as the steps wrote them. */
function bodyOf(aggregation: Aggregation, outputs: readonly StepOutput[]): unknown {
  const body = aggregate(aggregation, outputs);
  const sources = outputs.map(({ value }) => sourceOf(value));
  if (sources.every((json) => json === undefined) || !isStructure(body)) return body;
  const texts = outputs.map(({ value }, at) => sources[at] ?? JSON.stringify(value));
  const json = rewriteExactly(Buffer.from(`[${texts.join()}]`), (values) => {
    const read = values as readonly unknown[];
    return aggregate(
      aggregation,
      outputs.map(({ name }, at) => ({ name, value: read[at] })),
    );
  });
  return shareEncoded(body, json);
}

/** Builds the body of a composition whose steps all succeeded. */
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

/** Merges outputs; later members win, and an output that is not an object is put under its step's name. */
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

interface StepSources {
  readonly input: JsonRecord;
  /** Captured outputs by name. */
  readonly captured: ReadonlyMap<string, unknown>;
}

/** A step ready to be dispatched, or the reason it cannot be. */
type PreparedStep =
  | { readonly path: string; readonly input: JsonRecord; readonly fault?: undefined }
  | { readonly fault: string };

/**
 * Builds the request of one step of a composition: its parameters, taken from the caller's input,
 * from earlier outputs and from constants, and its path filled with them. A parameter in the path
 * is not sent a second time. An unavailable value fails the step, in words.   AGTP-API §12.1
 */
export function prepareStep(step: RecipeStep, sources: StepSources): PreparedStep {
  const values = new Map<string, unknown>();
  for (const [name, source] of Object.entries(step.parameters)) {
    const found = resolveSource(source, sources);
    if (found.kind === "missing") return { fault: `parameter "${name}": ${found.message}` };
    if (found.kind !== "value") continue;
    const own = ownValue(found.value);
    if (hasBoundless(found.value)) return { fault: `parameter "${name}" has ${BOUNDLESS}` };
    values.set(name, own);
  }
  const filled = fillPath(step.path, values);
  if (filled.fault !== undefined) return filled;
  for (const name of templateNames(step.path)) values.delete(name);
  return { path: filled.path, input: Object.fromEntries(values) };
}

/** Copies a value, so that a handler that changes its input changes neither the recipe nor other steps' values. */
function ownValue(value: unknown): unknown {
  return typeof value === "object" && value !== null ? JSON.parse(JSON.stringify(value)) : value;
}

const BOUNDLESS = "NaN or a number beyond what a double has, which would be null";

/** Returns true if a JSON value, which has no cycles, contains such a number; the input gate finds a top-level one. */
function hasBoundless(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return Object.values(value).some((member: unknown) =>
    typeof member === "number" ? !Number.isFinite(member) : hasBoundless(member),
  );
}

type Found =
  | { readonly kind: "value"; readonly value: unknown }
  /** Optional input the caller did not send: the parameter is left out. */
  | { readonly kind: "absent" }
  | { readonly kind: "missing"; readonly message: string };

function resolveSource(source: ParameterSource, { input, captured }: StepSources): Found {
  switch (source.kind) {
    case "proposal":
      if (!Object.hasOwn(input, source.value)) return { kind: "absent" };
      return { kind: "value", value: input[source.value] };
    case "previous_step":
      return reachInto(captured, source.value);
    case "constant":
      return { kind: "value", value: source.value };
  }
}

/** Follows a dotted path through own properties and array indices. */
function reachInto(captured: ReadonlyMap<string, unknown>, path: string): Found {
  const [name = "", ...members] = path.split(".");
  if (!captured.has(name)) return { kind: "missing", message: `no output "${name}" was captured` };
  let value = captured.get(name);
  for (const member of members) {
    const next = memberOf(value, member);
    if (next === undefined) return { kind: "missing", message: `the output has no "${path}"` };
    value = next;
  }
  return { kind: "value", value };
}

function memberOf(value: unknown, member: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value)) {
    return /^(?:0|[1-9]\d{0,8})$/.test(member) ? value[Number(member)] : undefined;
  }
  return Object.hasOwn(value, member) ? (value as JsonRecord)[member] : undefined;
}

/** The input that is known before the first step runs: all of it, or some members. */
export interface KnownInput {
  readonly input: JsonRecord;
  readonly isWhole: boolean;
}

/** A step before anything ran: its path, with placeholders for values that are only known later. */
interface ForeseenStep extends KnownInput {
  readonly path: string;
}

/** Predicts a step's path; undefined if it cannot be filled, so that the step is never dispatched. */
export function foreseeStep(step: RecipeStep, known: KnownInput): ForeseenStep | undefined {
  const values = new Map<string, unknown>();
  const isLater = (name: string): boolean => {
    const source = step.parameters[name];
    if (source?.kind !== "proposal") return source?.kind === "previous_step";
    return !known.isWhole && !Object.hasOwn(known.input, source.value);
  };
  const later = Object.keys(step.parameters).filter(isLater);
  for (const [name, source] of Object.entries(step.parameters)) {
    if (source.kind === "previous_step") continue;
    const found = resolveSource(source, { input: known.input, captured: new Map() });
    if (found.kind === "value") values.set(name, found.value);
  }
  const named = templateNames(step.path);
  const input = Object.fromEntries([...values].filter(([name]) => !named.includes(name)));
  const rest = { input, isWhole: later.length === 0 };
  if (named.some((name) => later.includes(name))) return { path: step.path, ...rest };
  const filled = fillPath(step.path, values);
  return filled.fault === undefined ? { path: filled.path, ...rest } : undefined;
}
