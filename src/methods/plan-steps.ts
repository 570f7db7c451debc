/**
 * The steps of a plan as invocations: what to send where, as far as it is known, and for the rest
 * where to take it from. A plan whose steps this server would not answer as they say is none.
 * AGTP "PLAN"
 */
import { checkPath, type MethodNames, templateParameters } from "../catalog/path-grammar.ts";
import type { Impact, JsonSchema } from "../contract/endpoint.ts";
import type { EndpointRegistry } from "../contract/endpoint-registry.ts";
import type { SchemaViolation } from "../contract/schema.ts";
import type { Route } from "../dispatch/route.ts";
import { prepareStep } from "../handlers/step-input.ts";
import { isRecord, type JsonRecord, quoteValue } from "../json-value.ts";
import type { StepReach } from "../synthesis/match-recipe.ts";
import type { SynthesisPlan } from "../synthesis/plan.ts";
import { strongestImpact } from "../synthesis/planner-impact.ts";
import type { ParameterSource, RecipeStep } from "../synthesis/recipe.ts";
import { type FloorOptions, impactOf } from "./floor.ts";
import type { Pair } from "./plan-request.ts";

/** What steps are described by. */
export interface StepPlaces {
  /** The operator's endpoints. */
  readonly registry: EndpointRegistry<Route>;
  readonly names: MethodNames;
  /** What the steps of a recipe arrive at. */
  reaches(step: RecipeStep): readonly StepReach[];
  /** What aliases and redirects make of a pair. */
  canonical(pair: Pair): Pair;
  /** What an agent reads about a floor method. */
  readonly describe: FloorOptions["describe"];
}

/** One invocation, in the words of the wire. */
export interface PlannedStep {
  readonly step: number;
  readonly method: string;
  /** Filled in as far as its values are known; a parameter that is left is in the input. */
  readonly path: string;
  /**
   * What to send. A member `{kind, value}` is no value but says where to take one from, as in a
   * recipe: `previous_step`, `proposal`, or `constant` for a value that looks like that itself.
   */
  readonly input: JsonRecord;
  /** The name that later steps know the answer by. */
  readonly capture_as: string;
  readonly purpose: string;
  readonly required_scopes: readonly string[];
  readonly impact: Impact;
  readonly is_idempotent: boolean;
  /** How sure its operator is of what it does. */
  readonly confidence: number;
  readonly cost: Cost;
  readonly output_schema: JsonSchema;
}

/** What executing costs the caller: how often it has to call. */
export interface Cost {
  readonly unit: "call";
  readonly amount: number;
}

/** The steps, or why they cannot be executed as they are. */
export type PlannedSteps =
  | { readonly kind: "steps"; readonly steps: readonly PlannedStep[] }
  | { readonly kind: "fault"; readonly message: string };

/** Describes every step of a plan. */
export function describeSteps(
  { kind, recipe }: SynthesisPlan,
  values: JsonRecord,
  places: StepPlaces,
): PlannedSteps {
  const steps: PlannedStep[] = [];
  for (const [index, step] of recipe.steps.entries()) {
    const reached = kind === "recipe" ? places.reaches(step) : reachOf(step, places);
    const invocation = prepare(step, { values, reached, places });
    if (typeof invocation === "string") {
      const message = `step ${index + 1} (${step.method} ${step.path}): ${invocation}`;
      return { kind: "fault", message };
    }
    steps.push({
      step: index + 1,
      method: step.method,
      ...invocation,
      capture_as: step.captureAs ?? `step_${index + 1}`,
      ...factsOf(step, reached, places),
    });
  }
  return { kind: "steps", steps };
}

/** A planned step has the template of its endpoint. */
function reachOf({ method, path }: RecipeStep, { registry }: StepPlaces): readonly StepReach[] {
  const entry = registry.entries.find((route) => route.method === method && route.path === path);
  return entry === undefined ? [] : [{ kind: "endpoint", endpoint: entry.definition }];
}

interface Surroundings {
  readonly values: JsonRecord;
  readonly reached: readonly StepReach[];
  readonly places: StepPlaces;
}

/** What is sent, or why this cannot be. */
function prepare(
  step: RecipeStep,
  surroundings: Surroundings,
): Pick<PlannedStep, "path" | "input"> | string {
  const { values } = surroundings;
  const sources = Object.entries(step.parameters);
  const isLater = (source: ParameterSource): boolean =>
    source.kind === "previous_step" ||
    (source.kind === "proposal" && !Object.hasOwn(values, source.value));
  const later = sources.filter(([, source]) => isLater(source));
  const known = Object.fromEntries(sources.filter(([, source]) => !isLater(source)));
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

/** What would be taken for a source is written as one. */
function literally(value: unknown): unknown {
  const isLikeSource = isRecord(value) && hasMembersOfSource(value);
  return isLikeSource ? { kind: "constant", value } : value;
}

function hasMembersOfSource(value: object): boolean {
  return Object.keys(value).sort().join(" ") === "kind value";
}

/** Whether a member of a step's input says where to take a value from. */
export function isSource(member: unknown): member is ParameterSource {
  return isRecord(member) && hasMembersOfSource(member);
}

/** A value may make a path that is refused, or that another endpoint answers. */
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

/** What is not there yet will be; then the endpoint judges the whole. */
function isOfLater({ path, keyword }: SchemaViolation, later: ReadonlySet<string>): boolean {
  if (later.size === 0) return false;
  const [, name = "", ...rest] = path.split("/");
  return (
    path === "" || (keyword === "required" && rest.length === 0 && later.has(unescapeToken(name)))
  );
}

function unescapeToken(token: string): string {
  return token.replaceAll("~1", "/").replaceAll("~0", "~");
}

/** Of all that the step may arrive at, the most that it could take and do. */
function factsOf(
  { method }: RecipeStep,
  reached: readonly StepReach[],
  { describe }: StepPlaces,
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
