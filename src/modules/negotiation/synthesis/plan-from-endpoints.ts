/**
 * Plans from registered endpoints: a single one that suffices, or else a chain. The answer has only what was asked,
 * without further outputs of steps: the agent agreed to its own output schema, not to theirs.   AGTP-API §10.7
 */
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import type { Aggregation } from "../../../endpoint/recipe.ts";
import {
  quoteNames,
  type SynthesisLog,
  type SynthesisPlan,
} from "../../../endpoint/synthesis-plan.ts";
import { compareNumbers, type IndexedEndpoint, subjectOf } from "./endpoint-index.ts";
import { findChain, type NoChain } from "./find-chain.ts";
import { strongestImpact } from "./impact.ts";
import { type Ask, giversOf, gives, type SynthesisTask } from "./synthesis-task.ts";
import { inputTypesOf, pickAsked, recipeOf, writeSteps } from "./write-recipe.ts";

/** A plan, or the reason that endpoints give none. */
export type EndpointsPlan = Omit<SynthesisPlan, "log"> | ({ readonly kind: "none" } & NoChain);

/** Plans from endpoints. */
export function planFromEndpoints(
  task: SynthesisTask,
  maxSteps: number,
  log: SynthesisLog,
): EndpointsPlan {
  const endpoint = findPassthrough(task, log);
  if (endpoint !== undefined) {
    const aggregation = passthroughAggregation(task, endpoint);
    return planOfChain("passthrough", [endpoint], aggregation, task, log);
  }
  const planned = findChain(task, maxSteps, log);
  if (planned.kind === "none") return planned;
  const { chain } = planned;
  return planOfChain("planner", chain, pickAsked(task, chain), task, log);
}

/** Passes the endpoint's answer through, unless it may hold what the proposal does not allow. */
function passthroughAggregation(task: SynthesisTask, endpoint: IndexedEndpoint): Aggregation {
  const given = [...endpoint.outputs, ...endpoint.occasional];
  const isFree = [...task.asks, ...task.wishes].every((ask) =>
    given.every((output) => output.name !== ask.name || ask.outputs.has(output)),
  );
  return task.isOpen && isFree ? "last" : pickAsked(task, [endpoint]);
}

function planOfChain(
  kind: "passthrough" | "planner",
  chain: readonly IndexedEndpoint[],
  aggregation: Aggregation,
  task: SynthesisTask,
  log: SynthesisLog,
): EndpointsPlan {
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

interface CallParts {
  /** Creates the task of supplying the asked outputs from the offered values. */
  taskFor(asks: readonly Ask[]): SynthesisTask;
  readonly maxSteps: number;
  readonly log: SynthesisLog;
}

/**
 * Plans a call of one endpoint: required inputs that are not offered come from a preceding chain. The endpoint's answer
 * is the plan's answer.   AGTP "PLAN"
 */
export function planCall(target: EndpointDefinition, parts: CallParts): EndpointsPlan {
  const { taskFor, maxSteps, log } = parts;
  const pair = `${target.method} ${target.path}`;
  const task = taskFor([]);
  const endpoint = task.index.endpoints.find(({ definition }) => definition === target);
  if (endpoint === undefined) return noCall(`the method policy does not expose ${pair}`);
  if (!task.isUsable(endpoint)) return noCall(`${pair}: ${task.obstacle(endpoint)}`);
  const asks = asksOf(endpoint, task);
  if (asks.length === 0) return planOfChain("passthrough", [endpoint], "last", task, log);
  const names = asks.map(({ name }) => name);
  const needs = `${pair} needs ${quoteNames(names)}`;
  if (maxSteps < 2) return noCall(`${needs}, and one step is all that a plan may have`, names);
  const planned = findChain(taskFor(asks), maxSteps - 1, log);
  if (planned.kind === "none") {
    const inputs = [...new Set([...planned.outputs, ...planned.inputs])];
    return noCall(`${needs}: ${planned.explanation}`, inputs.length > 0 ? inputs : names);
  }
  const chain = [...planned.chain.filter((step) => step !== endpoint), endpoint];
  return planOfChain("planner", chain, "last", task, log);
}

/** The required inputs that are not offered, as goals. */
function asksOf({ required }: IndexedEndpoint, task: SynthesisTask): readonly Ask[] {
  return required
    .filter((input) => !task.isOffered(input))
    .map(({ name, sources }) => ({ name, isRequired: true, outputs: sources }));
}

function noCall(explanation: string, inputs: readonly string[] = []): EndpointsPlan {
  return { kind: "none", explanation, outputs: [], inputs };
}

/** Finds the closest compatible endpoint. */
function findPassthrough(task: SynthesisTask, log: SynthesisLog): IndexedEndpoint | undefined {
  const candidates = candidatesOf(task);
  log.considered("passthrough", `${candidates.length} endpoints could answer alone`);
  let best: Ranked | undefined;
  for (const endpoint of candidates) {
    if (!isCompatible(endpoint, task)) {
      log.rejected("passthrough", subjectOf(endpoint), () => explainFault(endpoint, task));
      continue;
    }
    const ranked = { endpoint, rank: rankOf(endpoint, task) };
    if (best === undefined || compareNumbers(ranked.rank, best.rank) < 0) best = ranked;
  }
  return best?.endpoint;
}

/** The endpoints that give the rarest output; without asked outputs, those of the same method. */
function candidatesOf(task: SynthesisTask): readonly IndexedEndpoint[] {
  if (task.asks.length === 0) {
    const { index, proposal, offers } = task;
    return offers.length === 0 ? [] : (index.byMethod.get(proposal.method) ?? []);
  }
  const givers = task.asks.map((ask) => giversOf(ask));
  return givers.reduce((fewest, some) => (some.length < fewest.length ? some : fewest));
}

function isCompatible(endpoint: IndexedEndpoint, task: SynthesisTask): boolean {
  return (
    endpoint.required.every((input) => task.isOffered(input)) &&
    task.asks.every((ask) => gives(endpoint, ask)) &&
    task.isUsable(endpoint) &&
    (task.asks.length > 0 || unusedOffers(endpoint, task).length === 0)
  );
}

/** The reason that an endpoint does not suffice alone. */
function explainFault(endpoint: IndexedEndpoint, task: SynthesisTask): string {
  const obstacle = task.obstacle(endpoint);
  if (obstacle !== undefined) return obstacle;
  const asked = task.asks.filter((ask) => !gives(endpoint, ask));
  if (asked.length > 0) return `it does not give ${quoteNames(asked.map(({ name }) => name))}`;
  const needed = endpoint.required.filter((input) => !task.isOffered(input));
  if (needed.length === 0) return `it does not take ${quoteNames(unusedOffers(endpoint, task))}`;
  return `it needs ${quoteNames(needed.map(({ name }) => name))}, which the input does not have`;
}

interface Ranked {
  readonly endpoint: IndexedEndpoint;
  readonly rank: readonly number[];
}

/** The distance from the proposal by method, capability, namespace, and unmatched inputs, in this order. */
function rankOf(endpoint: IndexedEndpoint, task: SynthesisTask): readonly number[] {
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
  task: SynthesisTask,
): readonly string[] {
  const taken = [...required, ...optional].filter((input) => task.isOffered(input));
  const names = new Set(taken.map(({ name }) => name));
  return task.offers.filter((name) => !names.has(name));
}

function firstSegment(path: string): string {
  return path.split("/")[1] ?? "";
}
