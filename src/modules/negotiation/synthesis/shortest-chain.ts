/**
 * Searches the shortest chain. The problem is as hard as set cover, so the search has a budget of work instead of time:
 * within it the result is optimal, beyond it the best chain seen. Either way, the same proposal has the same result.
 */
import { arrange, type Candidate, compareChains, type Goal, isMet } from "./chain.ts";
import type { Closure } from "./closure.ts";
import type { Ask } from "./synthesis-task.ts";

/** Bounds and facts known before the search. */
interface SearchOptions {
  /** The minimum number of steps. */
  readonly lowest: number;
  /** The maximum number of steps. */
  readonly highest: number;
  /** A valid chain that may be improved. */
  readonly known: readonly Candidate[] | undefined;
  /** The number of proposed inputs. */
  readonly offered: number;
}

interface SearchResult {
  readonly best: readonly Candidate[] | undefined;
  /** True if the search was exhaustive, so that no better chain exists. */
  readonly isComplete: boolean;
}

/** The approximate budget of one search, in lookups. */
const MAX_WORK = 60_000;

/** Finds the best chain that meets all wanted outputs. */
export function searchShortestChain(closure: Closure, options: SearchOptions): SearchResult {
  const search = new ChainSearch(closure, options);
  let isComplete = !closure.isPartial;
  for (let depth = options.lowest; depth <= options.highest; depth += 1) {
    if (!search.run(depth)) {
      isComplete = false;
      break;
    }
    if (search.best !== undefined && search.best.length <= depth) break;
  }
  return { best: search.best, isComplete };
}

/** Searches sets of steps up to a depth, backwards from the wanted outputs. */
class ChainSearch {
  best: readonly Candidate[] | undefined;
  readonly #asks: readonly Ask[];
  readonly #offered: number;
  readonly #branches: ReadonlyMap<Goal, readonly Candidate[]>;
  readonly #mostSupplied: number;
  #seen = new Set<string>();
  #work = 0;

  constructor({ asks, producers }: Closure, { offered, known }: SearchOptions) {
    this.#asks = asks;
    this.#offered = offered;
    this.best = known;
    this.#branches = distinctBranches(producers);
    this.#mostSupplied = mostSupplied(this.#branches);
  }

  /** Searches all sets of at most `depth` steps; false if the budget ran out. */
  run(depth: number): boolean {
    this.#seen = new Set();
    this.#expand([], depth);
    return this.#work <= MAX_WORK;
  }

  #expand(steps: readonly Candidate[], depth: number): void {
    this.#work += 4 + steps.length ** 2;
    const unmet = this.#unmetGoals(steps);
    // Each further step meets at most `#mostSupplied` open goals.
    if (steps.length + Math.ceil(unmet.length / this.#mostSupplied) > depth) return;
    const goals = unmet.length > 0 ? this.#fewest(unmet) : this.#blockingNeeds(steps);
    if (goals.length === 0) this.#offer(steps);
    if (steps.length === depth) return;
    for (const goal of goals) {
      for (const candidate of this.#branches.get(goal) ?? []) {
        if (this.#work > MAX_WORK) return;
        if (candidate.level <= depth) this.#visit(steps, candidate, depth);
      }
    }
  }

  /** Visits each set of steps once, regardless of order. */
  #visit(steps: readonly Candidate[], candidate: Candidate, depth: number): void {
    this.#work += 1;
    if (steps.includes(candidate)) return;
    const next = [...steps, candidate];
    const key = next.map(({ endpoint }) => endpoint.index).sort((a, b) => a - b);
    const text = key.join(" ");
    if (this.#seen.has(text)) return;
    this.#seen.add(text);
    this.#expand(next, depth);
  }

  #offer(steps: readonly Candidate[]): void {
    const isBetter = this.best === undefined || compareChains(steps, this.best, this.#offered) < 0;
    if (isBetter) this.best = steps;
  }

  #unmetGoals(steps: readonly Candidate[]): readonly Goal[] {
    const unmet = new Set<Goal>(this.#asks);
    for (const { needs } of steps) for (const need of needs) unmet.add(need);
    this.#work += unmet.size;
    for (const goal of unmet) if (isMet(goal, steps)) unmet.delete(goal);
    return [...unmet];
  }

  /** Branching on one unmet goal suffices, as each plan has a step that supplies it. */
  #fewest(goals: readonly Goal[]): readonly Goal[] {
    let fewest: Goal | undefined;
    for (const goal of goals) {
      if (fewest === undefined || this.#count(goal) < this.#count(fewest)) fewest = goal;
    }
    return fewest === undefined ? [] : [fewest];
  }

  #count(goal: Goal): number {
    return this.#branches.get(goal)?.length ?? 0;
  }

  /** For steps that need each other, any unmet need may break the cycle. */
  #blockingNeeds(steps: readonly Candidate[]): readonly Goal[] {
    const { ordered, stuck } = arrange(steps);
    const needs = new Set(stuck.flatMap(({ needs: own }) => own));
    return [...needs].filter((goal) => !isMet(goal, ordered));
  }
}

/** The maximum number of goals that one candidate supplies. */
function mostSupplied(branches: ReadonlyMap<Goal, readonly Candidate[]>): number {
  const counts = new Map<Candidate, number>();
  let most = 1;
  for (const candidate of [...branches.values()].flat()) {
    const count = (counts.get(candidate) ?? 0) + 1;
    counts.set(candidate, count);
    most = Math.max(most, count);
  }
  return most;
}

/** Keeps the first of equivalent candidates: those with the same relevant needs, inputs and supplies. */
function distinctBranches(
  producers: ReadonlyMap<Goal, readonly Candidate[]>,
): ReadonlyMap<Goal, readonly Candidate[]> {
  const numbers = new Map([...producers.keys()].map((goal, number) => [goal, number]));
  const first = new Map<string, Candidate>();
  for (const candidate of new Set([...producers.values()].flat())) {
    const sort = sortOf(candidate, numbers);
    const best = first.get(sort);
    if (best === undefined || candidate.endpoint.index < best.endpoint.index) {
      first.set(sort, candidate);
    }
  }
  const chosen = new Set(first.values());
  return new Map(
    Array.from(producers, ([goal, all]) => [goal, all.filter((one) => chosen.has(one))]),
  );
}

function sortOf(
  { needs, supplies, takes, unfed, endpoint, level }: Candidate,
  numbers: ReadonlyMap<Goal, number>,
): string {
  const numbersOf = (goals: Iterable<Goal>): readonly number[] =>
    Array.from(goals, (goal) => numbers.get(goal) ?? -1)
      .filter((number) => number >= 0)
      .sort((a, b) => a - b);
  const { impact } = endpoint;
  return JSON.stringify([
    numbersOf(needs),
    numbersOf(supplies),
    takes.toSorted(),
    ...[unfed, impact, level],
  ]);
}
