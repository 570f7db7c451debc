/**
 * Plans for proposals: the first recipe that matches and can be used, else the one endpoint that
 * does what is asked, else the shortest chain of endpoints. Where only the agent's scopes are in the
 * way, that is said; the caller answers 262 then, and 463 otherwise.   AGTP-API §10.6
 */

import { atOnce, type Paced } from "../../../base/paced.ts";
import { sortPaced } from "../../../base/sort-paced.ts";
import type { EndpointDefinition, Impact } from "../../../endpoint/endpoint.ts";
import type { Recipe } from "../../../endpoint/recipe.ts";
import { PlanLog } from "../../../endpoint/synthesis-log.ts";
import type {
  Authority,
  MissingParts,
  PlanFailure,
  PlanLimits,
  Proposal,
  SynthesisPlan,
  Synthesizer,
} from "../../../endpoint/synthesis-plan.ts";
import { indexingForPlans } from "./build-endpoint-index.ts";
import { comparePairs, type PlannerIndex } from "./endpoint-index.ts";
import type { NoChain } from "./find-chain.ts";
import type { StepReaches } from "./match-recipe.ts";
import { planCall } from "./plan-call.ts";
import { type ChainPlan, planFromEndpoints } from "./plan-from-endpoints.ts";
import { compileRecipes, type RecipePlanner } from "./plan-from-recipe.ts";
import { indexingSimilar } from "./similar-endpoints.ts";
import { type Ask, type Limits, PlanningTask } from "./synthesis-task.ts";

interface SynthesizerOptions {
  /** Registered endpoints (tier B), each of which a dispatch of its own pair arrives at. */
  readonly endpoints: readonly EndpointDefinition[];
  readonly recipes: Iterable<Recipe>;
  /** The pairs that a step of a recipe may arrive at. */
  readonly reaches: StepReaches;
  /** The most steps that a plan may have. */
  readonly maxDepth: number;
}

/** Builds the indexes; what is asked later leaves nothing behind. */
export function createSynthesizer(options: SynthesizerOptions): Synthesizer {
  return atOnce(creatingSynthesizer(options));
}

/** The same, an endpoint a step. */
export function* creatingSynthesizer(options: SynthesizerOptions): Paced<Synthesizer> {
  const planRecipe = compileRecipes(options.recipes, options);
  yield;
  const endpoints = yield* sortPaced(options.endpoints, comparePairs);
  const index = yield* indexingForPlans(endpoints);
  const lookalikes = yield* indexingSimilar(endpoints);
  const planning = { planRecipe, index, maxDepth: options.maxDepth };
  return {
    plan: (proposal, authority, limits) =>
      planBy(
        (held) => attempt(proposal, held, planning, limits),
        limitsOf(proposal, authority, limits),
      ),
    planCall: (target, proposal, authority, limits) =>
      planBy(
        (held) => attemptCall(target, proposal, held, planning, limits),
        limitsOf(proposal, authority, limits),
      ),
    similar: (proposal, limit) => lookalikes.similar(proposal, limit),
    counterProposal: (proposal) => lookalikes.closest(proposal),
  };
}

function limitsOf(
  { semantic }: Proposal,
  authority: Authority,
  { allows }: PlanLimits = {},
): Limits {
  return { authority, impact: semantic.impact, ...(allows === undefined ? {} : { allows }) };
}

interface Planning {
  readonly planRecipe: RecipePlanner;
  readonly index: PlannerIndex;
  readonly maxDepth: number;
}

const NOTHING_MISSING: MissingParts = { outputs: [], inputs: [], scopes: [] };
const ALL_SCOPES: Authority = { covers: () => true };

/** Tries as it is, and where that fails with more than the agent has, only to say why. */
function planBy(tryWith: (limits: Limits) => Attempt, limits: Limits): SynthesisPlan | PlanFailure {
  const { authority, impact } = limits;
  const watched = watch(authority);
  const first = tryWith({ ...limits, authority: watched });
  if (first.kind === "plan") return first.plan;
  const { explanation, outputs, inputs, log } = first;
  const missing = { ...NOTHING_MISSING, outputs, inputs };
  if (watched.hasRefused()) {
    const withScopes = tryWith({ ...limits, authority: ALL_SCOPES });
    if (withScopes.kind === "plan") return scopeRequired(withScopes.plan, authority, log);
  }
  if (first.isHeldByImpact) {
    const stronger = tryWith({ ...limits, impact: "irreversible" });
    if (stronger.kind === "plan") return impactRefused(stronger.plan, impact, log);
  }
  return { kind: "failure", reason: "composition-impossible", explanation, missing, log };
}

type Attempt =
  | { readonly kind: "plan"; readonly plan: SynthesisPlan }
  | ({ readonly kind: "none"; readonly log: PlanFailure["log"] } & NoChain & {
        /** Some endpoints would have helped, were their impact not stronger than what is proposed. */
        readonly isHeldByImpact: boolean;
      });

/** Goes through the sources of plans once. */
function attempt(
  proposal: Proposal,
  held: Limits,
  { planRecipe, index, maxDepth }: Planning,
  limits?: PlanLimits,
): Attempt {
  const log = new PlanLog();
  const fromRecipe = planRecipe(proposal, held.authority, log, limits);
  if (fromRecipe.kind === "plan") {
    return { kind: "plan", plan: { ...fromRecipe.plan, log: log.entries() } };
  }
  const task = new PlanningTask(index, proposal, held);
  const outcome = planFromEndpoints(task, stepsOf(maxDepth, limits), log);
  const { explanation } = fromRecipe;
  // The reason that keeps the recipe for the pair from it says more than what no other endpoint
  // gives.
  const told = outcome.kind === "plan" || explanation === undefined ? {} : { explanation };
  return attemptOf({ ...outcome, ...told }, [task], log);
}

/** The same for a call of one endpoint, which nothing can stand in for. */
function attemptCall(
  target: EndpointDefinition,
  proposal: Proposal,
  held: Limits,
  { index, maxDepth }: Planning,
  limits?: PlanLimits,
): Attempt {
  const log = new PlanLog();
  const tasks: PlanningTask[] = [];
  const taskFor = (asks?: readonly Ask[]): PlanningTask => {
    const task = new PlanningTask(index, proposal, held, asks);
    tasks.push(task);
    return task;
  };
  const outcome = planCall(target, { taskFor, maxDepth: stepsOf(maxDepth, limits), log });
  return attemptOf(outcome, tasks, log);
}

function stepsOf(maxDepth: number, { maxSteps = maxDepth }: PlanLimits = {}): number {
  return Math.min(maxDepth, maxSteps);
}

function attemptOf(outcome: ChainPlan, tasks: readonly PlanningTask[], log: PlanLog): Attempt {
  if (outcome.kind === "plan") {
    return { kind: "plan", plan: { ...outcome.plan, log: log.entries() } };
  }
  const isHeldByImpact = tasks.some((task) => task.isHeldByImpact);
  return { ...outcome, isHeldByImpact, log: log.entries() };
}

/** An authority that remembers whether it said no. */
function watch(authority: Authority): Authority & { hasRefused(): boolean } {
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
  authority: Authority,
  log: PlanFailure["log"],
): PlanFailure {
  const scopes = requiredScopes.filter((scope) => !authority.covers(scope));
  const explanation = `the composed behaviour needs ${scopes.join(", ")}, which the agent does not hold`;
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
