/**
 * PLAN: returns the invocations that lead to a goal, in order, each with its input and output. It calls and stores
 * nothing, and the same request of an agent has the same plan. 422 `no-plan` if there is none.   AGTP "PLAN"
 */
import { hash } from "node:crypto";
import type { JsonRecord } from "../../../base/json-value.ts";
import { mapPaced, type Paced } from "../../../base/paced.ts";
import type { TaskQueue } from "../../../base/task-queue.ts";
import type { Caller } from "../../../dispatch/caller/caller.ts";
import { canonicalPair } from "../../../dispatch/policy/method-policy.ts";
import { untilDrained } from "../../../dispatch/process-state.ts";
import { payerOf } from "../../../dispatch/rates/rates.ts";
import { noPlan } from "../../../dispatch/refusals/floor-refusals.ts";
import { type Refusal, rateLimited, schemaViolation } from "../../../dispatch/refusals/refusal.ts";
import { describeBy, type FloorMethod, floorResult } from "../../../dispatch/routes/floor.ts";
import type { RouteHandler } from "../../../dispatch/routes/route.ts";
import { creatingRegistry } from "../../../endpoint/endpoint-registry.ts";
import type { Recipe } from "../../../endpoint/recipe.ts";
import type { Call, HandlerSuccess } from "../../../handlers/handler.ts";
import type { JsonSchema } from "../../../schema/json-schema.ts";
import { sortedText } from "../../../schema/keywords-and-formats.ts";
import type { NegotiationContext } from "../config.ts";
import {
  filteringOperators,
  type LateSynthesis,
  lazily,
  type PreparedSynthesis,
} from "../late-synthesis.ts";
import { strongestImpact } from "../synthesis/impact.ts";
import { membersOf } from "../synthesis/object-members.ts";
import { type Cost, isSource, type PlannedStep } from "./describe-steps.ts";
import { type FoundPlan, findPlan, type PlanPlaces } from "./find-plan.ts";
import { indexingGoals } from "./goal-index.ts";
import { createValueDescriber } from "./goal-proposal.ts";
import { PLAN_SCHEMA, type PlanRequest, readPlanRequest } from "./plan-request.ts";

/** PLAN on "/". The indexes are built at first use; earlier requests wait for them. */
export function planMethod(places: () => Promise<PlanPlaces>, work: TaskQueue): FloorMethod {
  return { inputSchema: PLAN_SCHEMA, handler: planHandler(places, work) };
}

function planHandler(places: () => Promise<PlanPlaces>, work: TaskQueue): RouteHandler {
  return async (call, exchange) => {
    const reading = readPlanRequest(call.input);
    if (reading.kind === "fault") return schemaViolation([reading.violation]);
    const owner = payerOf(exchange);
    if (!work.hasRoom(owner)) return rateLimited("work", 1);
    const { request } = reading;
    const prepared = await places();
    const planning = answering(call, request, exchange.caller, prepared);
    return work.pace(planning, owner, call.signal);
  };
}

function* answering(
  call: Call,
  request: PlanRequest,
  caller: Caller,
  places: PlanPlaces,
): Paced<HandlerSuccess | Refusal> {
  const found = yield* findPlan(request, caller, places);
  if (found.kind === "none") return noPlan(found.explanation, { missing: found.missing });
  return floorResult(call, { goal: call.input["goal"], ...resultOf(request, found) });
}

/** The factor that unknown constraints apply to the confidence. */
const NOT_APPLIED_SHARE = 0.5;

function resultOf(request: PlanRequest, found: FoundPlan): JsonRecord {
  const { plan, steps } = found;
  const { aggregation } = plan.recipe;
  const cost: Cost = { unit: "call", amount: steps.length };
  const taken = new Set(
    plan.recipe.steps.flatMap(({ parameters }) =>
      Object.values(parameters).flatMap((one) => (one.kind === "proposal" ? [one.value] : [])),
    ),
  );
  const isHeld = request.notApplied.length === 0;
  const sure = steps.reduce((product, { confidence }) => product * confidence, found.share);
  return {
    plan_id: hash("sha256", sortedText({ steps, aggregation })),
    ordered_steps: steps,
    steps,
    aggregation: typeof aggregation === "string" ? { mode: aggregation } : aggregation,
    output_schema: outputOf(request, found),
    required_scopes: plan.requiredScopes,
    impact: strongestImpact([plan.impact, ...steps.map(({ impact }) => impact)]),
    is_idempotent: plan.isIdempotent,
    cost,
    estimated_cost: cost,
    confidence: Math.round(100 * sure * (isHeld ? 1 : NOT_APPLIED_SHARE)) / 100,
    assumptions: assumptionsOf(request, found),
    needed_inputs: [...taken].filter((name) => isToCome(name, steps)),
    unused_inputs: Object.keys(request.values).filter((name) => !taken.has(name)),
    not_applied: request.notApplied,
    recipe_lineage: plan.lineage ?? null,
  };
}

/** The output schema of the whole plan. */
function outputOf({ outputSchema }: PlanRequest, { plan, steps }: FoundPlan): JsonSchema {
  const { aggregation } = plan.recipe;
  if (typeof aggregation !== "string") return outputSchema ?? { type: "object" };
  switch (aggregation) {
    case "last":
      return steps.at(-1)?.output_schema ?? {};
    case "merge":
      return { type: "object", required: [...new Set(steps.flatMap(requiredOf))] };
    case "list":
      return { type: "object", required: ["results"], properties: { results: { type: "array" } } };
  }
}

/** The members that an object answer always adds to a merged result. */
function requiredOf({ output_schema: schema }: PlannedStep): readonly string[] {
  return schema["type"] === "object" ? [...membersOf(schema).required] : [];
}

interface Later {
  readonly step: PlannedStep;
  readonly name: string;
  readonly kind: "proposal" | "previous_step";
  readonly value: string;
}

/** Input members whose values are not known yet. */
function laterOf(steps: readonly PlannedStep[]): readonly Later[] {
  return steps.flatMap((step) =>
    Object.entries(step.input).flatMap(([name, source]) => {
      if (!isSource(source) || source.kind === "constant") return [];
      return [{ step, name, kind: source.kind, value: source.value }];
    }),
  );
}

function isToCome(name: string, steps: readonly PlannedStep[]): boolean {
  return laterOf(steps).some(({ kind, value }) => kind === "proposal" && value === name);
}

function assumptionsOf(request: PlanRequest, { plan, steps, share }: FoundPlan): readonly string[] {
  const last = steps.at(-1);
  const { recipe_name: recipe } = plan.lineage ?? {};
  const meant = recipe === undefined ? `${last?.method} ${last?.path}` : `the recipe "${recipe}"`;
  const isRead = request.pair === undefined && request.outputSchema === undefined;
  const later = laterOf(steps).map(({ step, name, kind, value }) =>
    kind === "proposal"
      ? `"${value}" is given when step ${step.step} is called`
      : `${value} is there, and fits "${name}" of step ${step.step}, as the schemas say`,
  );
  const scopes = plan.requiredScopes.join(", ");
  return [
    ...(isRead ? [`the goal is ${meant}: ${Math.round(100 * share)} % of its words say so`] : []),
    ...later,
    ...(scopes === "" ? [] : [`the agent still holds ${scopes}`]),
    ...(request.notApplied.length === 0 ? [] : ["the constraints in words are not in the way"]),
    "the endpoints do what they declare",
  ];
}

/** Builds the dependencies of PLAN once, at first use. */
export function createLatePlanPlaces(
  context: NegotiationContext,
  prepared: LateSynthesis,
): () => Promise<PlanPlaces> {
  const drive = untilDrained(context);
  return lazily(async () => drive(creatingPlanPlaces(context, await prepared())));
}

function* creatingPlanPlaces(
  context: NegotiationContext,
  synthesis: PreparedSynthesis,
): Paced<PlanPlaces> {
  const { methodPolicy, names, config, catalog } = context;
  const operators = yield* filteringOperators(context);
  const recipes = [...context.recipes.values()].filter(hasOnePath);
  const definitions = yield* mapPaced(operators, ({ definition }) => definition);
  const goals = yield* indexingGoals(definitions, recipes);
  const { registry } = yield* creatingRegistry(operators);
  return {
    ...{ ...synthesis, registry, goals, names, methodPolicy },
    canonical: (pair) => canonicalPair(methodPolicy, pair),
    describe: describeBy(catalog),
    describeValues: createValueDescriber(),
    policies: config.policies,
  };
}

/** Tells whether a recipe has one path: a path pattern does not say which one a goal means. */
function hasOnePath({ pattern }: Recipe): boolean {
  return pattern !== undefined && pattern.pathRegex === undefined;
}
