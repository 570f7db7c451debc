/**
 * The endpoints that could be part of a plan within the step limit: searched backwards from the wanted outputs over
 * callable endpoints, if the steps before and after an endpoint together stay within it.
 */
import type { Candidate, Candidates, Goal } from "./chain.ts";
import type { IndexedEndpoint, Input } from "./endpoint-index.ts";
import type { Levels } from "./levels.ts";
import { type Ask, giversOf } from "./synthesis-task.ts";

/** The candidates that could be part of a plan. */
export interface Closure {
  readonly asks: readonly Ask[];
  /** The suppliers of each goal, by earliest step, then method and path. */
  readonly producers: ReadonlyMap<Goal, readonly Candidate[]>;
  /** True if some suppliers were left out to bound the search. */
  readonly isPartial: boolean;
}

/** The starting goals and bounds. */
interface ClosureOptions {
  readonly asks: readonly Ask[];
  readonly levels: Levels;
  readonly candidates: Candidates;
  readonly maxSteps: number;
}

/** A goal whose suppliers are not yet found. */
interface Unmet {
  readonly goal: Goal;
  readonly givers: readonly IndexedEndpoint[];
  /** The number of steps from the supplier to the answer, including it. */
  readonly distance: number;
}

const MAX_LINKS = 5000;
/**
 * The maximum number of suppliers per goal: existing candidates first, then the earliest, then those with the fewest
 * needs.
 */
const MAX_PRODUCERS = 64;

/** Builds the closure; every goal must be reachable. */
export function buildClosure({ asks, ...options }: ClosureOptions): Closure {
  const producers = new Map<Goal, readonly Candidate[]>();
  const unmet = asks
    .map((ask): Unmet => ({ goal: ask, givers: giversOf(ask), distance: 1 }))
    // Rare outputs first, so that their suppliers are preferred for others.
    .sort((a, b) => a.givers.length - b.givers.length);
  let links = 0;
  let isPartial = false;
  // Goals found here are appended to the same loop: breadth first, so each distance is minimal.
  for (const one of unmet) {
    const fitting = fittingGivers(one, options);
    const max = Math.min(MAX_PRODUCERS, MAX_LINKS - links);
    isPartial ||= fitting.length > max;
    const chosen = fitting.length > max ? choose(fitting, max, options) : fitting;
    const found = chosen.map((endpoint) => options.candidates.of(endpoint));
    producers.set(one.goal, found.sort(bySoonest));
    links += found.length;
    for (const need of found.flatMap(({ needs }) => needs)) {
      if (producers.has(need)) continue;
      producers.set(need, []);
      unmet.push({ goal: need, givers: giversOfInput(need), distance: one.distance + 1 });
    }
  }
  return { asks, producers, isPartial };
}

/** The suppliers that are callable early enough; of equal ones, the first. */
function fittingGivers(
  { givers, distance }: Unmet,
  { levels, maxSteps }: Pick<ClosureOptions, "levels" | "maxSteps">,
): readonly IndexedEndpoint[] {
  const seen = new Set<number>();
  return givers.filter((giver) => {
    const level = levels.ofEndpoint(giver);
    if (level === 0 || level + distance - 1 > maxSteps || seen.has(giver.likeness)) return false;
    seen.add(giver.likeness);
    return true;
  });
}

function choose(
  givers: readonly IndexedEndpoint[],
  max: number,
  { levels, candidates }: Pick<ClosureOptions, "levels" | "candidates">,
): readonly IndexedEndpoint[] {
  const rank = (giver: IndexedEndpoint): number =>
    (candidates.has(giver) ? 0 : 1e9) + levels.ofEndpoint(giver) * 1e4 + giver.required.length;
  return givers
    .map((giver) => ({ giver, rank: rank(giver) }))
    .sort((a, b) => a.rank - b.rank || a.giver.index - b.giver.index)
    .slice(0, Math.max(0, max))
    .map(({ giver }) => giver);
}

/** The endpoints that always supply a compatible output. */
export function giversOfInput({ sources }: Input): readonly IndexedEndpoint[] {
  return [...sources].flatMap(({ givers }) => givers);
}

function bySoonest(a: Candidate, b: Candidate): number {
  return a.level - b.level || a.endpoint.index - b.endpoint.index;
}
