/**
 * Plans from registered endpoints: one that does alone what is asked, else a chain of them. What was
 * asked is answered, and nothing that a step gives besides: the agent agreed to its own output
 * schema, not to those of the steps.   AGTP-API §10.7
 */

import type { Aggregation } from "../../../endpoint/recipe.ts";
import { type PlanLog, quoteNames } from "../../../endpoint/synthesis-log.ts";
import type { SynthesisPlan } from "../../../endpoint/synthesis-plan.ts";
import { inputTypesOf } from "./declared-inputs.ts";
import type { IndexedEndpoint } from "./endpoint-index.ts";
import { type NoChain, planChain, subjectOf } from "./find-chain.ts";
import { strongestImpact } from "./impact.ts";
import { giversOf, gives, type PlanningTask } from "./synthesis-task.ts";
import { pickAsked, recipeOf, writeSteps } from "./write-recipe.ts";

/** A plan, or why the endpoints give none. */
export type ChainPlan =
  | { readonly kind: "plan"; readonly plan: Omit<SynthesisPlan, "log"> }
  | ({ readonly kind: "none" } & NoChain);

/** Finds the plan that the endpoints give. */
export function planFromEndpoints(task: PlanningTask, maxDepth: number, log: PlanLog): ChainPlan {
  const endpoint = findPassthrough(task, log);
  if (endpoint !== undefined) {
    const aggregation = passthroughAggregation(task, endpoint);
    return { kind: "plan", plan: planOf("passthrough", [endpoint], aggregation, task, log) };
  }
  const planned = planChain(task, maxDepth, log);
  if (planned.kind === "none") return planned;
  const { chain } = planned;
  return { kind: "plan", plan: planOf("planner", chain, pickAsked(task, chain), task, log) };
}

/** The endpoint's answer as it is, unless it could hold what the proposal does not allow. */
function passthroughAggregation(task: PlanningTask, endpoint: IndexedEndpoint): Aggregation {
  const given = [...endpoint.outputs, ...endpoint.occasional];
  const isFree = [...task.asks, ...task.wishes].every((ask) =>
    given.every((output) => output.name !== ask.name || ask.outputs.has(output)),
  );
  return task.isOpen && isFree ? "last" : pickAsked(task, [endpoint]);
}

/** The plan that a chain is. */
export function planOf(
  kind: "passthrough" | "planner",
  chain: readonly IndexedEndpoint[],
  aggregation: Aggregation,
  task: PlanningTask,
  log: PlanLog,
): Omit<SynthesisPlan, "log"> {
  const written = writeSteps(task, chain);
  for (const [at, endpoint] of chain.entries()) {
    const message = `step ${at + 1} of ${chain.length}`;
    const inputs = written[at]?.inputs ?? {};
    const place = { step: at + 1, ...subjectOf(endpoint) };
    log.add({ stage: kind, outcome: "chosen", message, ...place, inputs });
  }
  const steps = written.map(({ step }) => step);
  const definitions = chain.map(({ definition }) => definition);
  return {
    kind,
    recipe: recipeOf(kind, steps, aggregation),
    requiredScopes: [...new Set(definitions.flatMap(({ requiredScopes }) => requiredScopes))],
    impact: strongestImpact(chain.map(({ impact }) => impact)),
    isIdempotent: definitions.every(({ semantic }) => semantic.is_idempotent),
    neededInputs: [...new Set(written.flatMap(({ needed }) => needed))].sort(),
    inputTypes: inputTypesOf(steps.map((step, at) => ({ step, endpoint: definitions[at] }))),
  };
}

/** The compatible endpoint that comes closest to the proposal. */
function findPassthrough(task: PlanningTask, log: PlanLog): IndexedEndpoint | undefined {
  const candidates = candidatesOf(task);
  log.considered("passthrough", `${candidates.length} endpoints could answer alone`);
  let best: Ranked | undefined;
  for (const endpoint of candidates) {
    if (!isCompatible(endpoint, task)) {
      log.rejected("passthrough", subjectOf(endpoint), () => explainFault(endpoint, task));
      continue;
    }
    const ranked = { endpoint, rank: rankOf(endpoint, task) };
    if (best === undefined || compareRanks(ranked, best) < 0) best = ranked;
  }
  return best?.endpoint;
}

/** Those that give the rarest output, or those of the same method. */
function candidatesOf(task: PlanningTask): readonly IndexedEndpoint[] {
  if (task.asks.length === 0) {
    const { index, proposal, offers } = task;
    return offers.length === 0 ? [] : (index.byMethod.get(proposal.method) ?? []);
  }
  const givers = task.asks.map((ask) => giversOf(ask));
  return givers.reduce((fewest, some) => (some.length < fewest.length ? some : fewest));
}

function isCompatible(endpoint: IndexedEndpoint, task: PlanningTask): boolean {
  return (
    endpoint.required.every((input) => task.isOffered(input)) &&
    task.asks.every((ask) => gives(endpoint, ask)) &&
    task.isUsable(endpoint) &&
    (task.asks.length > 0 || unusedOffers(endpoint, task).length === 0)
  );
}

/** Why an endpoint does not do alone. */
function explainFault(endpoint: IndexedEndpoint, task: PlanningTask): string {
  const obstacle = task.obstacle(endpoint);
  if (obstacle !== undefined) return obstacle;
  const asked = task.asks.filter((ask) => !gives(endpoint, ask));
  if (asked.length > 0) return `it does not give ${quoteNames(asked.map(({ name }) => name))}`;
  const needed = endpoint.required.filter((input) => !task.isOffered(input));
  if (needed.length === 0) return `it does not take ${quoteNames(unusedOffers(endpoint, task))}`;
  return `it needs ${quoteNames(needed.map(({ name }) => name))}, which the proposal does not offer`;
}

interface Ranked {
  readonly endpoint: IndexedEndpoint;
  readonly rank: readonly number[];
}

/** Smaller is closer: method, capability, namespace, inputs that only one side has. */
function rankOf(endpoint: IndexedEndpoint, task: PlanningTask): readonly number[] {
  const { method, semantic, namespace, path } = endpoint.definition;
  const { proposal } = task;
  const group = firstSegment(proposal.path);
  const isNear = namespace === group || firstSegment(path) === group;
  const unfed = endpoint.optional.filter((input) => !task.isOffered(input)).length;
  return [
    Number(method !== proposal.method),
    Number(semantic.capability !== proposal.semantic.capability),
    Number(!isNear),
    unusedOffers(endpoint, task).length + unfed,
    endpoint.index,
  ];
}

function unusedOffers(
  { required, optional }: IndexedEndpoint,
  task: PlanningTask,
): readonly string[] {
  const taken = [...required, ...optional].filter((input) => task.isOffered(input));
  const names = new Set(taken.map(({ name }) => name));
  return task.offers.filter((name) => !names.has(name));
}

function firstSegment(path: string): string {
  return path.split("/")[1] ?? "";
}

function compareRanks({ rank: a }: Ranked, { rank: b }: Ranked): number {
  const at = a.findIndex((value, place) => value !== b[place]);
  return at === -1 ? 0 : (a[at] ?? 0) - (b[at] ?? 0);
}
