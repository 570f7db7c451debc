/**
 * Describes the steps of a plan as invocations: target, input and, for unknown values, their source. A plan is rejected
 * if this server would not answer its steps as described.   AGTP "PLAN"
 */

import { unescapeToken } from "../../../base/dotted-key.ts";
import { isRecord, type JsonRecord, quoteValue } from "../../../base/json-value.ts";
import type { Pair } from "../../../catalog/pair.ts";
import { checkPath, type MethodNames, templateParameters } from "../../../catalog/path-grammar.ts";
import { type DescribeMethod, impactOf } from "../../../dispatch/routes/floor.ts";
import type { Route } from "../../../dispatch/routes/route.ts";
import type { Impact } from "../../../endpoint/endpoint.ts";
import type { EndpointRegistry } from "../../../endpoint/endpoint-registry.ts";
import type { ParameterSource, RecipeStep } from "../../../endpoint/recipe.ts";
import type { SynthesisPlan } from "../../../endpoint/synthesis-plan.ts";
import { prepareStep } from "../../../handlers/composition.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import type { SchemaViolation } from "../../../schema/schema.ts";
import { strongestImpact } from "../synthesis/impact.ts";
import type { StepReach } from "../synthesis/match-recipe.ts";

/** The dependencies of describing steps. */
export interface StepPlaces {
  /** The operator's endpoints. */
  readonly registry: EndpointRegistry<Route>;
  readonly names: MethodNames;
  /** The possible targets of a recipe's step. */
  reaches(step: RecipeStep): readonly StepReach[];
  /** Resolves aliases and redirects of a pair. */
  canonical(pair: Pair): Pair;
  /** Describes a floor method for agents. */
  readonly describe: DescribeMethod;
}

/** The steps, or the fault that makes them unexecutable. */
type PlannedSteps =
  | { readonly kind: "steps"; readonly steps: readonly PlannedStep[] }
  | { readonly kind: "fault"; readonly message: string };

/** The caller's inputs. */
interface OfferedInputs {
  readonly values: JsonRecord;
  /** Names of inputs whose values follow at execution. */
  readonly awaited: ReadonlySet<string>;
}

/** Describes every step of a plan. */
export function describeSteps(
  { kind, recipe }: SynthesisPlan,
  offered: OfferedInputs,
  places: StepPlaces,
): PlannedSteps {
  const steps: PlannedStep[] = [];
  for (const [index, step] of recipe.steps.entries()) {
    const reached = kind === "recipe" ? places.reaches(step) : reachOf(step, places);
    const invocation = prepare(step, { ...offered, reached, places });
    if (typeof invocation === "string") {
      const message = `step ${index + 1} (${step.method} ${step.path}): ${invocation}`;
      return { kind: "fault", message };
    }
    steps.push({
      step: index + 1,
      method: step.method,
      ...invocation,
      capture_as: step.captureAs ?? `step_${index + 1}`,
      ...factsOf(step.method, reached, places.describe),
    });
  }
  return { kind: "steps", steps };
}

/** The endpoint of a step that was planned from endpoints, found by its template. */
function reachOf({ method, path }: RecipeStep, { registry }: StepPlaces): readonly StepReach[] {
  const entry = registry.entries.find((route) => route.method === method && route.path === path);
  return entry === undefined ? [] : [{ kind: "endpoint", endpoint: entry.definition }];
}

interface Surroundings extends OfferedInputs {
  readonly reached: readonly StepReach[];
  readonly places: StepPlaces;
}

/** Returns the path and input to send, or the fault. */
function prepare(
  step: RecipeStep,
  surroundings: Surroundings,
): Pick<PlannedStep, "path" | "input"> | string {
  const { values, awaited } = surroundings;
  const sources = Object.entries(step.parameters);
  const isGiven = (source: ParameterSource): boolean =>
    source.kind === "constant" ||
    (source.kind === "proposal" && Object.hasOwn(values, source.value));
  // Inputs not offered are omitted, as when a recipe runs.
  const isLater = (source: ParameterSource): boolean =>
    source.kind === "previous_step" || (!isGiven(source) && awaited.has(String(source.value)));
  const later = sources.filter(([, source]) => isLater(source));
  const known = Object.fromEntries(sources.filter(([, source]) => isGiven(source)));
  const filling = { input: values, captured: new Map<string, unknown>() };
  const whole = prepareStep({ ...step, path: "/", parameters: known }, filling);
  if (whole.fault !== undefined) return whole.fault;
  const laterNames = new Set(later.map(([name]) => name));
  const isOpen = templateParameters(step.path).some((name) => laterNames.has(name));
  const filled = isOpen
    ? { path: step.path, input: whole.input }
    : prepareStep({ ...step, parameters: known }, filling);
  if (filled.fault !== undefined) return filled.fault;
  const fault =
    (isOpen ? undefined : findPathFault(step, filled.path, surroundings)) ??
    findInputFault(whole.input, laterNames, surroundings);
  if (fault !== undefined) return fault;
  const literal = Object.entries(filled.input).map(([name, value]) => [name, literally(value)]);
  return { path: filled.path, input: Object.fromEntries([...literal, ...later]) };
}

/** Wraps a value that looks like a source as a constant. */
function literally(value: unknown): unknown {
  return isSource(value) ? { kind: "constant", value } : value;
}

/** Finds a path that is refused or answered by another endpoint. */
function findPathFault(
  { method, path: template }: RecipeStep,
  path: string,
  { reached, places }: Surroundings,
): string | undefined {
  const fault = checkPath(path, places.names);
  if (fault !== undefined) return fault.message;
  const [only, ...others] = reached;
  if (path === template || only?.kind !== "endpoint" || others.length > 0) return undefined;
  const pair = places.canonical({ method, path });
  const found = places.registry.find(pair.method, pair.path)?.entry.definition;
  return found === only.endpoint ? undefined : `${quoteValue(path)} is another endpoint's path`;
}

function findInputFault(
  input: JsonRecord,
  later: ReadonlySet<string>,
  { reached, places }: Surroundings,
): string | undefined {
  const [only, ...others] = reached;
  if (only?.kind !== "endpoint" || others.length > 0) return undefined;
  const route = places.registry.entries.find(({ definition }) => definition === only.endpoint);
  const violations = route?.input.check(input) ?? (later.size > 0 ? [] : route?.precheck?.(input));
  const found = violations?.find((violation) => !isOfLater(violation, later));
  return found && `${found.path || "/"} ${found.message}`;
}

/** Tells whether a violation concerns later values, which the endpoint then validates. */
function isOfLater({ path, keyword }: SchemaViolation, later: ReadonlySet<string>): boolean {
  if (later.size === 0) return false;
  const [, name = "", ...rest] = path.split("/");
  return (
    path === "" || (keyword === "required" && rest.length === 0 && later.has(unescapeToken(name)))
  );
}

/** One invocation; keys are the protocol's. */
export interface PlannedStep {
  readonly step: number;
  readonly method: string;
  /** Filled in as far as values are known; remaining parameters are in the input. */
  readonly path: string;
  /**
   * The input to send. A member `{kind, value}` names the source of a value, as in a recipe: `previous_step`,
   * `proposal`, or `constant` for a value of that form.
   */
  readonly input: JsonRecord;
  /** The name by which later steps refer to the answer. */
  readonly capture_as: string;
  readonly purpose: string;
  readonly required_scopes: readonly string[];
  readonly impact: Impact;
  readonly is_idempotent: boolean;
  /** The operator's confidence in the endpoint. */
  readonly confidence: number;
  readonly cost: Cost;
  readonly output_schema: JsonSchema;
}

/** The cost to the caller in calls. */
export interface Cost {
  readonly unit: "call";
  readonly amount: number;
}

/** Tells whether a member of a step's input is a source. */
export function isSource(member: unknown): member is ParameterSource {
  return isRecord(member) && Object.keys(member).sort().join(" ") === "kind value";
}

/** The facts of a step, as the maximum over its possible targets. */
function factsOf(
  method: string,
  reached: readonly StepReach[],
  describe: DescribeMethod,
): Omit<PlannedStep, "step" | "method" | "path" | "input" | "capture_as"> {
  const endpoints = reached.flatMap((one) => (one.kind === "endpoint" ? [one.endpoint] : []));
  const impacts = reached.map((one) =>
    one.kind === "endpoint" ? one.endpoint.semantic.impact : one.impact,
  );
  const [endpoint, ...others] = endpoints;
  return {
    purpose: endpoint?.semantic.intent ?? describe(method).description,
    required_scopes: [...new Set(endpoints.flatMap(({ requiredScopes }) => requiredScopes))],
    impact: reached.length === 0 ? impactOf(method) : strongestImpact(impacts),
    is_idempotent:
      endpoints.length === 0
        ? impactOf(method) === "informational"
        : endpoints.every(({ semantic }) => semantic.is_idempotent),
    confidence: Math.min(1, ...endpoints.map(({ semantic }) => semantic.confidence)),
    cost: { unit: "call", amount: 1 },
    output_schema: endpoint === undefined || others.length > 0 ? {} : endpoint.outputSchema,
  };
}
