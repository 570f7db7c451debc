/**
 * Makes the request of one step of a composition: its parameters, taken from the caller's input,
 * from earlier outputs and from constants, and its path filled with them. A parameter in the path
 * is not sent a second time. What cannot be had fails the step, in words.   AGTP-API §12.1
 */
import { templateNames } from "../base/template.ts";
import { fillPath } from "../endpoint/path-template.ts";
import type { ParameterSource, RecipeStep } from "../endpoint/recipe.ts";

type Values = Readonly<Record<string, unknown>>;

/** The sources of a step's values. */
export interface StepSources {
  readonly input: Values;
  /** Captured outputs by name. */
  readonly captured: ReadonlyMap<string, unknown>;
}

/** A step ready to be dispatched, or why it cannot be. */
export type PreparedStep =
  | { readonly path: string; readonly input: Values; readonly fault?: undefined }
  | { readonly fault: string };

/** Resolves a step's parameters and fills its path. */
export function prepareStep(step: RecipeStep, sources: StepSources): PreparedStep {
  const values = new Map<string, unknown>();
  for (const [name, source] of Object.entries(step.parameters)) {
    const found = resolveSource(source, sources);
    if (found.kind === "missing") return { fault: `parameter "${name}": ${found.message}` };
    if (found.kind === "value") values.set(name, found.value);
  }
  const filled = fillPath(step.path, values);
  if (filled.fault !== undefined) return filled;
  for (const name of templateNames(step.path)) values.delete(name);
  return { path: filled.path, input: Object.fromEntries(values) };
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
      // A handler that changes its input must not change the recipe.
      return { kind: "value", value: structuredClone(source.value) };
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
  return Object.hasOwn(value, member) ? (value as Values)[member] : undefined;
}

/** The facts of the input that are known before anything ran: all of it, or some members. */
export interface KnownInput {
  readonly input: Values;
  readonly isWhole: boolean;
}

/** A step before anything ran: its path, with parameters where they are known only later. */
export interface ForeseenStep extends KnownInput {
  readonly path: string;
}

/** Undefined: the step will not be dispatched, since its path cannot be filled. */
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
