/**
 * Finds the plan for a goal: a call of the named endpoint, a chain that gives the wanted outputs, or what the goal's
 * words describe. Steps are checked as the gates would; the first valid plan is taken, and the first failure explains
 * why there is none.   AGTP "PLAN"
 */

import type { JsonRecord } from "../../../base/json-value.ts";
import type { Paced } from "../../../base/paced.ts";
import type { Pair } from "../../../catalog/pair.ts";
import type { Caller } from "../../../dispatch/caller/caller.ts";
import type { MethodPolicy } from "../../../dispatch/policy/method-policy.ts";
import type { PoliciesConfig } from "../../../dispatch/policy/policies-section.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import { decodeValues, mergeInput } from "../../../endpoint/input.ts";
import type {
  MissingParts,
  PlanFailure,
  PlanLimits,
  Proposal,
  SynthesisPlan,
  Synthesizer,
} from "../../../endpoint/synthesis-plan.ts";
import { isStronger } from "../synthesis/impact.ts";
import { membersOf } from "../synthesis/object-members.ts";
import { wordsOf } from "../synthesis/similar-endpoints.ts";
import { describeSteps, type PlannedStep, type StepPlaces } from "./describe-steps.ts";
import type { GoalIndex, GoalMatch } from "./goal-index.ts";
import { proposalOfGoal, type ValueDescriber } from "./goal-proposal.ts";
import type { PlanRequest } from "./plan-request.ts";

/** The dependencies of finding plans. */
export interface PlanPlaces extends StepPlaces, PermitRules {
  readonly synthesizer: Pick<Synthesizer, "plan" | "planCall">;
  readonly goals: GoalIndex;
  readonly describeValues: ValueDescriber;
}

/** A plan that the caller may execute. */
export interface FoundPlan {
  readonly kind: "found";
  readonly plan: SynthesisPlan;
  readonly steps: readonly PlannedStep[];
  /** The fraction of the goal's words that the plan covers, from 0 to 1. */
  readonly share: number;
}

/** The reason that no plan was found. */
interface NoPlanFound {
  readonly kind: "none";
  readonly explanation: string;
  readonly missing: MissingParts;
}

type Outcome = FoundPlan | NoPlanFound;

/** Longer values are not searched for in the goal's words. */
const MAX_NAME_LENGTH = 256;

/** Finds the plan, one match of the goal per step. */
export function* findPlan(
  request: PlanRequest,
  caller: Caller,
  places: PlanPlaces,
): Paced<Outcome> {
  const obstacle = findObstacle(caller, places);
  if (obstacle !== undefined) return none(obstacle);
  const search = new PlanSearch(request, caller, places);
  if (request.pair !== undefined) return search.forPair(places.canonical(request.pair));
  return request.outputSchema === undefined ? yield* search.forWords() : search.forOutputs();
}

class PlanSearch {
  readonly #request: PlanRequest;
  readonly #authority: Caller["authority"];
  readonly #places: PlanPlaces;
  readonly #limits: PlanLimits;

  constructor(request: PlanRequest, caller: Caller, places: PlanPlaces) {
    this.#request = request;
    this.#authority = caller.authority;
    this.#places = places;
    this.#limits = planLimits(request, caller, places);
  }

  /** Plans a call of the endpoint registered for a pair, exactly or by template. */
  forPair(pair: Pair): Outcome {
    const { registry } = this.#places;
    const written = registry.entries.find(
      ({ method, path }) => method === pair.method && path === pair.path,
    );
    if (written !== undefined) return this.#call(written.definition, 1);
    const match = registry.find(pair.method, pair.path);
    if (match === undefined) return this.#compose(pair);
    const decoded = decodeValues(match.values);
    if (typeof decoded === "string") return none("the path is not percent-encoded UTF-8");
    const { shape, definition } = match.entry;
    return this.#call(definition, 1, mergeInput(shape, this.#request.values, undefined, decoded));
  }

  /** Plans for the wanted outputs with any endpoint. */
  forOutputs(): Outcome {
    return this.#judge(this.#plan({ method: "", path: "/" }), 1);
  }

  /** Tries the matches of the goal's words, best first; of equal ones, the plan with the weaker impact. */
  *forWords(): Paced<Outcome> {
    const { words, values } = this.#request;
    let best: { readonly score: number; readonly found: FoundPlan } | undefined;
    let first: NoPlanFound | undefined;
    for (const match of this.#places.goals(words, namesIn(values))) {
      if (best !== undefined && match.score < best.score) break;
      const outcome = this.#follow(match);
      if (outcome.kind === "none") first ??= outcome;
      else if (best === undefined || doesLess(outcome, best.found)) {
        best = { score: match.score, found: outcome };
      }
      yield;
    }
    return best?.found ?? first ?? none("no endpoint or recipe of this server is about this goal");
  }

  #follow({ subject, share }: GoalMatch): Outcome {
    if (subject.kind === "endpoint") return this.#call(subject.endpoint, share);
    const { name, pattern } = subject.recipe;
    const pair = { method: pattern?.methodExact ?? "", path: pattern?.pathExact ?? "/" };
    const planned = this.#plan(pair);
    const isOther = planned.kind !== "failure" && planned.lineage?.recipe_name !== name;
    return isOther ? none(`the recipe "${name}" cannot be used`) : this.#judge(planned, share);
  }

  #call(
    target: EndpointDefinition,
    share: number,
    values: JsonRecord = this.#request.values,
  ): Outcome {
    const lacking = this.#lacking(target);
    if (lacking.length > 0) {
      const explanation = `${target.method} ${target.path} does not promise ${lacking.join(", ")}`;
      return none(explanation, { outputs: lacking, inputs: [], scopes: [] });
    }
    const { synthesizer } = this.#places;
    const proposal = this.#proposal(target, values);
    const planned = synthesizer.planCall(target, proposal, this.#authority, this.#limits);
    return this.#judge(planned, share, values);
  }

  /** Wanted outputs that the endpoint may omit. */
  #lacking({ outputSchema }: EndpointDefinition): readonly string[] {
    const { outputSchema: wanted } = this.#request;
    if (wanted === undefined) return [];
    const given = membersOf(outputSchema).required;
    return [...membersOf(wanted).required].filter((name) => !given.has(name));
  }

  /**
   * Plans for an unregistered pair; without wanted outputs, only a recipe or an endpoint of the same method is
   * accepted.
   */
  #compose(pair: Pair): Outcome {
    const planned = this.#plan(pair);
    const isMeant =
      planned.kind === "failure" ||
      planned.kind === "recipe" ||
      this.#request.outputSchema !== undefined ||
      planned.recipe.steps[0]?.method === pair.method;
    if (isMeant) return this.#judge(planned, 1);
    return none(`nothing is registered as ${pair.method} ${pair.path}, and no recipe answers it`);
  }

  #plan(pair: Pair): SynthesisPlan | PlanFailure {
    const proposal = this.#proposal(pair, this.#request.values);
    return this.#places.synthesizer.plan(proposal, this.#authority, this.#limits);
  }

  #judge(
    planned: SynthesisPlan | PlanFailure,
    share: number,
    values: JsonRecord = this.#request.values,
  ): Outcome {
    if (planned.kind === "failure") return none(explain(planned, values), planned.missing);
    const { maxImpact } = this.#request;
    if (isStronger(planned.impact, maxImpact)) {
      return none(`what would do is ${planned.impact}, expected at most ${maxImpact}`);
    }
    const { inputSchema = {} } = this.#request;
    const awaited = new Set(membersOf(inputSchema).properties.keys());
    const described = describeSteps(planned, { values, awaited }, this.#places);
    if (described.kind === "fault") return none(described.message);
    return { kind: "found", plan: planned, steps: described.steps, share };
  }

  #proposal(pair: Pair, values: JsonRecord): Proposal {
    return proposalOfGoal(this.#request, pair, this.#places.describeValues(values));
  }
}

/** Tells whether a plan has a weaker impact than another, or the same with fewer calls. */
function doesLess(one: FoundPlan, other: FoundPlan): boolean {
  if (one.plan.impact !== other.plan.impact) {
    return isStronger(other.plan.impact, one.plan.impact);
  }
  return one.steps.length < other.steps.length;
}

/** Adds which given values do not fit, since the failure lists them as missing. */
function explain({ explanation, missing }: PlanFailure, values: JsonRecord): string {
  const unfit = missing.inputs.filter((name) => Object.hasOwn(values, name));
  if (unfit.length === 0) return explanation;
  return `${explanation}; what is given as ${unfit.join(", ")} does not fit`;
}

/** The words of given values, which name things rather than describe the goal. */
function namesIn(values: JsonRecord): ReadonlySet<string> {
  const texts = Object.values(values).filter((value) => typeof value === "string");
  return new Set(texts.filter(({ length }) => length <= MAX_NAME_LENGTH).flatMap(wordsOf));
}

function none(
  explanation: string,
  missing: MissingParts = { outputs: [], inputs: [], scopes: [] },
): NoPlanFound {
  return { kind: "none", explanation, missing };
}

/** The rules that apply to callers. */
interface PermitRules {
  readonly methodPolicy: Pick<MethodPolicy, "isAllowed">;
  readonly policies: Pick<PoliciesConfig, "scopeRequiredForInvocation" | "oauth">;
  /** Resolves aliases and redirects of a pair. */
  canonical(pair: Pair): Pair;
}

/** Returns the reason that a caller can call no endpoint at all, or undefined. */
function findObstacle(
  { agentId, authority }: Caller,
  { policies }: PermitRules,
): string | undefined {
  if (agentId === undefined) return "plans are made for agents, and the caller has no Agent-ID";
  if (!policies.scopeRequiredForInvocation || authority.source !== "none") return undefined;
  return "the caller has neither a document nor an Authority-Scope header to call anything with";
}

/** The limits on a plan's steps: the gates' and the request's.   AGTP-API §9, §13.2 */
function planLimits(
  { available, excluded, maxSteps }: PlanRequest,
  { principalId }: Caller,
  { methodPolicy, policies, canonical }: PermitRules,
): PlanLimits {
  const tokenMethods = policies.oauth?.requiredOnMethods ?? [];
  return {
    ...(maxSteps === undefined ? {} : { maxSteps }),
    allows(pair) {
      if (available !== undefined && !hasPair(available, pair)) return false;
      if (hasPair(excluded, pair)) return false;
      const { method } = canonical({ method: pair.method, path: pair.path });
      if (!methodPolicy.isAllowed(method)) return false;
      return principalId !== undefined || !tokenMethods.includes(method);
    },
  };
}

function hasPair(list: ReadonlySet<string>, { method, path }: Pair): boolean {
  return list.has(method) || list.has(`${method} ${path}`);
}
