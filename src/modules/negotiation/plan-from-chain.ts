/**
 * Plans from registered endpoints: one that does alone what is asked, else a chain of them. What was
 * asked is answered, and nothing that a step gives besides: the agent agreed to its own output
 * schema, not to those of the steps.   AGTP-API §10.7
 */

import type { SynthesisPlan } from "../../endpoint/plan.ts";
import type { PlanLog } from "../../endpoint/plan-log.ts";
import type { Aggregation } from "../../endpoint/recipe.ts";
import { inputTypesOf } from "./declared-inputs.ts";
import { findPassthrough } from "./passthrough.ts";
import { type NoChain, planChain, subjectOf } from "./planner.ts";
import { strongestImpact } from "./planner-impact.ts";
import type { IndexedEndpoint } from "./planner-index.ts";
import { pickAsked, recipeOf, writeSteps } from "./planner-recipe.ts";
import type { PlanningTask } from "./planner-task.ts";

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
