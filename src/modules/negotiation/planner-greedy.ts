/**
 * A chain without a search: for each goal, rarest first, the step that can give it soonest, and
 * among those the one that gives most of what is still open. It is always a plan, it takes no time,
 * and it is often the shortest.
 */
import type { Candidate, Candidates } from "./planner-candidate.ts";
import { pruneChain } from "./planner-chain.ts";
import { giversOfInput } from "./planner-closure.ts";
import type { IndexedEndpoint, Input, Output } from "./planner-index.ts";
import type { Levels } from "./planner-levels.ts";
import { type Ask, giversOf } from "./planner-task.ts";

/** A longer walk is not worth being looked at again. */
const MAX_PRUNED = 64;
/** The most givers of one goal that are compared. */
const MAX_COMPARED = 256;

/** A chain that meets every ask; all of them must be within reach. */
export function walkGreedily(
  asks: readonly Ask[],
  levels: Levels,
  candidates: Candidates,
): readonly Candidate[] {
  const chosen = new Set<IndexedEndpoint>();
  const wanted = new Set<Input | Output>(asks.flatMap(({ outputs }) => [...outputs]));
  const open = asks
    .map((ask) => ({ givers: giversOf(ask), level: levels.ofAsk(ask) }))
    .sort((a, b) => b.givers.length - a.givers.length);
  for (let goal = open.pop(); goal !== undefined; goal = open.pop()) {
    const { givers, level } = goal;
    const soonest = givers.filter((giver) => levels.ofEndpoint(giver) === level);
    const giver = mostUseful(soonest.slice(0, MAX_COMPARED), wanted);
    if (giver === undefined || soonest.some((one) => chosen.has(one))) continue;
    chosen.add(giver);
    for (const given of [...giver.outputs, ...giver.feeds]) wanted.delete(given);
    // The needs of a step are below its own level, so that the walk ends and its steps can be
    // called.
    for (const need of candidates.of(giver).needs) {
      wanted.add(need);
      open.push({ givers: giversOfInput(need), level: levels.ofInput(need) });
    }
  }
  const steps = Array.from(chosen, (endpoint) => candidates.of(endpoint));
  return steps.length > MAX_PRUNED ? steps : pruneChain(steps, asks);
}

/** The giver of most that is wanted; among equals the least demanding. */
function mostUseful(
  givers: readonly IndexedEndpoint[],
  wanted: ReadonlySet<Input | Output>,
): IndexedEndpoint | undefined {
  let best: IndexedEndpoint | undefined;
  let bestRank = Number.NEGATIVE_INFINITY;
  for (const giver of givers) {
    const { outputs, feeds, required } = giver;
    const useful = [...outputs, ...feeds].filter((given) => wanted.has(given)).length;
    const rank = useful - required.length / 1000;
    if (rank <= bestRank) continue;
    best = giver;
    bestRank = rank;
  }
  return best;
}
