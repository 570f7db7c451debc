/**
 * Plans from registered endpoints: one that does alone what is asked, else a chain of them. What
 * was asked is answered, and nothing that a step gives besides: the agent agreed to its own output
 * schema, not to those of the steps.   AGTP-API §10.7
 */

import type { Aggregation } from "../../../endpoint/recipe.ts";
import type { SynthesisLog } from "../../../endpoint/synthesis-log.ts";
import type { SynthesisPlan } from "../../../endpoint/synthesis-plan.ts";
import { inputTypesOf } from "./declared-inputs.ts";
import { type IndexedEndpoint, subjectOf } from "./endpoint-index.ts";
import { findChain } from "./find-chain.ts";
import { findPassthrough } from "./find-passthrough.ts";
import type { NoChain } from "./gap.ts";
import { strongestImpact } from "./impact.ts";
import type { SynthesisTask } from "./synthesis-task.ts";
import { pickAsked, recipeOf, writeSteps } from "./write-recipe.ts";

/** A plan, or why the endpoints give none. */
export type EndpointsPlan =
  | { readonly kind: "plan"; readonly plan: Omit<SynthesisPlan, "log"> }
  | ({ readonly kind: "none" } & NoChain);

/** Finds the plan that the endpoints give. */
export function planFromEndpoints(
  task: SynthesisTask,
  maxSteps: number,
  log: SynthesisLog,
): EndpointsPlan {
  const endpoint = findPassthrough(task, log);
  if (endpoint !== undefined) {
    const aggregation = passthroughAggregation(task, endpoint);
    return { kind: "plan", plan: planOfChain("passthrough", [endpoint], aggregation, task, log) };
  }
  const planned = findChain(task, maxSteps, log);
  if (planned.kind === "none") return planned;
  const { chain } = planned;
  return { kind: "plan", plan: planOfChain("planner", chain, pickAsked(task, chain), task, log) };
}

/** The endpoint's answer as it is, unless it could hold what the proposal does not allow. */
function passthroughAggregation(task: SynthesisTask, endpoint: IndexedEndpoint): Aggregation {
  const given = [...endpoint.outputs, ...endpoint.occasional];
  const isFree = [...task.asks, ...task.wishes].every((ask) =>
    given.every((output) => output.name !== ask.name || ask.outputs.has(output)),
  );
  return task.isOpen && isFree ? "last" : pickAsked(task, [endpoint]);
}

/** The plan that a chain is. */
export function planOfChain(
  kind: "passthrough" | "planner",
  chain: readonly IndexedEndpoint[],
  aggregation: Aggregation,
  task: SynthesisTask,
  log: SynthesisLog,
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
