/**
 * Synthesis: plans for proposals. The plan is the first usable matching recipe, else the one endpoint that suffices,
 * else the shortest chain. A failure says if only the agent's scopes are missing, for which the caller answers 262
 * instead of 463.   AGTP-API §10.6
 */
import { type Paced, sortPaced } from "../../../base/paced.ts";
import type { EndpointDefinition, Impact } from "../../../endpoint/endpoint.ts";
import type { Recipe } from "../../../endpoint/recipe.ts";
import {
  explainScopes,
  type MissingParts,
  type PlanFailure,
  type PlanLimits,
  type Proposal,
  type ScopeCheck,
  SynthesisLog,
  type SynthesisPlan,
  type Synthesizer,
} from "../../../endpoint/synthesis-plan.ts";
import { indexingEndpoints } from "./build-endpoint-index.ts";
import { comparePairs, type EndpointIndex } from "./endpoint-index.ts";
import type { NoChain } from "./find-chain.ts";
import type { StepReaches } from "./match-recipe.ts";
import { type EndpointsPlan, planCall, planFromEndpoints } from "./plan-from-endpoints.ts";
import { compileRecipes, type RecipePlanner } from "./plan-from-recipe.ts";
import { indexingSimilarEndpoints } from "./similar-endpoints.ts";
import { type Ask, type SynthesisBounds, SynthesisTask } from "./synthesis-task.ts";

interface SynthesizerOptions {
  /** Registered endpoints (tier B) that are reachable by their own pair. */
  readonly endpoints: readonly EndpointDefinition[];
  readonly recipes: Iterable<Recipe>;
  /** The possible targets of a recipe's step. */
  readonly reaches: StepReaches;
  /** The policy's maximum number of steps. */
  readonly maxDepth: number;
}

/** Builds the indexes, one endpoint per step; later requests do not change them. */
export function* creatingSynthesizer(options: SynthesizerOptions): Paced<Synthesizer> {
  const { maxDepth } = options;
  const planFromRecipes = compileRecipes(options.recipes, options.reaches);
  yield;
  const endpoints = yield* sortPaced(options.endpoints, comparePairs);
  const index = yield* indexingEndpoints(endpoints);
  const lookalikes = yield* indexingSimilarEndpoints(endpoints);
  const sources = { planFromRecipes, index };
  return {
    plan: (proposal, authority, limits) =>
      planOrExplain(
        (bounds) => attempt(proposal, bounds, sources),
        boundsOf(proposal, authority, maxDepth, limits),
      ),
    planCall: (target, proposal, authority, limits) =>
      planOrExplain(
        (bounds) => attemptCall(target, proposal, bounds, sources),
        boundsOf(proposal, authority, maxDepth, limits),
      ),
    similar: (proposal, limit) => lookalikes.similar(proposal, limit),
    counterProposal: (proposal) => lookalikes.closest(proposal),
  };
}

function boundsOf(
  { semantic }: Proposal,
  authority: ScopeCheck,
  maxDepth: number,
  { maxSteps = maxDepth, allows }: PlanLimits = {},
): SynthesisBounds {
  const bounds = { authority, impact: semantic.impact, maxSteps: Math.min(maxDepth, maxSteps) };
  return allows === undefined ? bounds : { ...bounds, allows };
}

interface PlanSources {
  readonly planFromRecipes: RecipePlanner;
  readonly index: EndpointIndex;
}

const NOTHING_MISSING: MissingParts = { outputs: [], inputs: [], scopes: [] };
const ALL_SCOPES: ScopeCheck = { covers: () => true };

/** Plans within the bounds; after a failure, tries without them to explain it. */
function planOrExplain(
  tryWithin: (bounds: SynthesisBounds) => Attempt,
  bounds: SynthesisBounds,
): SynthesisPlan | PlanFailure {
  const { authority, impact } = bounds;
  const watched = watch(authority);
  const first = tryWithin({ ...bounds, authority: watched });
  if (first.kind !== "none") return first;
  const { explanation, outputs, inputs, log } = first;
  const missing = { ...NOTHING_MISSING, outputs, inputs };
  if (watched.hasRefused()) {
    const withScopes = tryWithin({ ...bounds, authority: ALL_SCOPES });
    if (withScopes.kind !== "none") return scopeRequired(withScopes, authority, log);
  }
  if (first.isHeldByImpact) {
    const stronger = tryWithin({ ...bounds, impact: "irreversible" });
    if (stronger.kind !== "none") return impactRefused(stronger, impact, log);
  }
  return { kind: "failure", reason: "composition-impossible", explanation, missing, log };
}

type Attempt =
  | SynthesisPlan
  | ({ readonly kind: "none"; readonly log: PlanFailure["log"] } & NoChain & {
        /** True if endpoints were only ruled out by their impact. */
        readonly isHeldByImpact: boolean;
      });

/** Tries each source of plans once, in order. */
function attempt(
  proposal: Proposal,
  bounds: SynthesisBounds,
  { planFromRecipes, index }: PlanSources,
): Attempt {
  const log = new SynthesisLog();
  const fromRecipe = planFromRecipes(proposal, bounds, log);
  if (fromRecipe.kind !== "none") return { ...fromRecipe, log: log.entries() };
  const task = new SynthesisTask(index, proposal, bounds);
  const outcome = planFromEndpoints(task, bounds.maxSteps, log);
  const { explanation } = fromRecipe;
  // The obstacle of the matching recipe is more helpful than the endpoints' failure.
  const isTold = outcome.kind === "none" && explanation !== undefined;
  return attemptOf(isTold ? { ...outcome, explanation } : outcome, [task], log);
}

/** Plans a call of one specific endpoint. */
function attemptCall(
  target: EndpointDefinition,
  proposal: Proposal,
  bounds: SynthesisBounds,
  { index }: PlanSources,
): Attempt {
  const log = new SynthesisLog();
  const tasks: SynthesisTask[] = [];
  const taskFor = (asks?: readonly Ask[]): SynthesisTask => {
    const task = new SynthesisTask(index, proposal, bounds, asks);
    tasks.push(task);
    return task;
  };
  const outcome = planCall(target, { taskFor, maxSteps: bounds.maxSteps, log });
  return attemptOf(outcome, tasks, log);
}

function attemptOf(
  outcome: EndpointsPlan,
  tasks: readonly SynthesisTask[],
  log: SynthesisLog,
): Attempt {
  if (outcome.kind !== "none") return { ...outcome, log: log.entries() };
  const isHeldByImpact = tasks.some((task) => task.isHeldByImpact);
  return { ...outcome, isHeldByImpact, log: log.entries() };
}

/** Wraps an authority to record if it refused a scope. */
function watch(authority: ScopeCheck): ScopeCheck & { hasRefused(): boolean } {
  let refused = false;
  return {
    covers: (scope) => {
      const isCovered = authority.covers(scope);
      refused ||= !isCovered;
      return isCovered;
    },
    hasRefused: () => refused,
  };
}

function scopeRequired(
  { requiredScopes }: SynthesisPlan,
  authority: ScopeCheck,
  log: PlanFailure["log"],
): PlanFailure {
  const scopes = requiredScopes.filter((scope) => !authority.covers(scope));
  const explanation = explainScopes(scopes);
  const missing = { ...NOTHING_MISSING, scopes };
  return { kind: "failure", reason: "scope-required", explanation, missing, log };
}

function impactRefused(
  { impact: needed, recipe }: SynthesisPlan,
  declared: Impact,
  log: PlanFailure["log"],
): PlanFailure {
  const steps = recipe.steps.map(({ method, path }) => `${method} ${path}`).join(", ");
  const explanation =
    `what is proposed as ${declared} can only be composed of ${steps}, ` +
    `whose impact is ${needed}`;
  const missing = NOTHING_MISSING;
  return { kind: "failure", reason: "composition-impossible", explanation, missing, log };
}
