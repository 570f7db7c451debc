/**
 * A chain without a search: for each goal the step that can give it soonest. It is always a plan,
 * it takes no time, and it is often the shortest.
 */
import type { Candidate, Candidates } from "./planner-candidate.ts";
import { pruneChain } from "./planner-chain.ts";
import { giversOfInput } from "./planner-closure.ts";
import type { IndexedEndpoint } from "./planner-index.ts";
import type { Levels } from "./planner-levels.ts";
import { type Ask, giversOf } from "./planner-task.ts";

/** A longer walk is not worth being looked at again. */
const MAX_PRUNED = 64;

/** A chain that meets every ask; all of them must be within reach. */
export function walkGreedily(
  asks: readonly Ask[],
  levels: Levels,
  candidates: Candidates,
): readonly Candidate[] {
  const chosen = new Set<IndexedEndpoint>();
  const open = asks.map((ask) => ({ givers: giversOf(ask), level: levels.ofAsk(ask) }));
  for (let goal = open.pop(); goal !== undefined; goal = open.pop()) {
    const { givers, level } = goal;
    const soonest = givers.filter((giver) => levels.ofEndpoint(giver) === level);
    const giver = leastDemanding(soonest);
    if (giver === undefined || soonest.some((one) => chosen.has(one))) continue;
    chosen.add(giver);
    // What a step needs is below its own level, so that the walk ends and its steps can be called.
    for (const need of candidates.of(giver).needs) {
      open.push({ givers: giversOfInput(need), level: levels.ofInput(need) });
    }
  }
  const steps = Array.from(chosen, (endpoint) => candidates.of(endpoint));
  return steps.length > MAX_PRUNED ? steps : pruneChain(steps, asks);
}

function leastDemanding(givers: readonly IndexedEndpoint[]): IndexedEndpoint | undefined {
  let best = givers[0];
  for (const giver of givers) {
    if (best === undefined || giver.required.length < best.required.length) best = giver;
  }
  return best;
}
