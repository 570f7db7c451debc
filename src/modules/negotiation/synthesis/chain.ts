/**
 * Chains of steps: orders endpoints so that they can be called one after another, leaves out what
 * is not needed, and compares two chains.
 */
import { IMPACTS } from "../../../endpoint/endpoint.ts";
import type { Candidate, Goal } from "./candidate.ts";

/** Steps in the order in which they can be called, and those that can never be. */
interface Arrangement {
  readonly ordered: readonly Candidate[];
  readonly stuck: readonly Candidate[];
}

/** Orders steps: what leaves the least behind goes first, then what is first by name. */
export function arrange(steps: readonly Candidate[]): Arrangement {
  const ordered: Candidate[] = [];
  const met = new Set<Goal>();
  let waiting = steps.toSorted(byCaution);
  for (;;) {
    const next = waiting.find(({ needs }) => needs.every((goal) => met.has(goal)));
    if (next === undefined) return { ordered, stuck: waiting };
    ordered.push(next);
    for (const goal of next.supplies) met.add(goal);
    waiting = waiting.filter((step) => step !== next);
  }
}

/** Tells whether one of the steps supplies a goal. */
export function isMet(goal: Goal, steps: readonly Candidate[]): boolean {
  return steps.some(({ supplies }) => supplies.has(goal));
}

/** Tells whether steps can all be called, and meet all goals. */
function isPlan(steps: readonly Candidate[], goals: readonly Goal[]): boolean {
  return goals.every((goal) => isMet(goal, steps)) && arrange(steps).stuck.length === 0;
}

/** Leaves out steps that the others can do without. */
export function pruneChain(
  steps: readonly Candidate[],
  goals: readonly Goal[],
): readonly Candidate[] {
  let kept = steps;
  for (const step of steps) {
    const others = kept.filter((other) => other !== step);
    if (isPlan(others, goals)) kept = others;
  }
  return kept;
}

/**
 * Tells which of two chains is better: fewer steps, then the weaker impact, then fewer inputs that
 * one side has and the other has no use for, then method and path.
 */
export function compareChains(
  a: readonly Candidate[],
  b: readonly Candidate[],
  offered: number,
): number {
  return (
    a.length - b.length ||
    impactRank(a) - impactRank(b) ||
    countUnneeded(a, offered) - countUnneeded(b, offered) ||
    compareIndexes(a, b)
  );
}

function byCaution(a: Candidate, b: Candidate): number {
  return impactRank([a]) - impactRank([b]) || a.endpoint.index - b.endpoint.index;
}

function impactRank(steps: readonly Candidate[]): number {
  return Math.max(...steps.map(({ endpoint }) => IMPACTS.indexOf(endpoint.impact)));
}

/** The number of proposed inputs that no step takes, and of inputs that are not offered. */
function countUnneeded(steps: readonly Candidate[], offered: number): number {
  const taken = new Set(steps.flatMap(({ takes }) => takes));
  const unfed = steps.reduce((sum, step) => sum + step.unfed, 0);
  return offered - taken.size + unfed;
}

function compareIndexes(a: readonly Candidate[], b: readonly Candidate[]): number {
  const ours = indexesOf(a);
  const theirs = indexesOf(b);
  const at = ours.findIndex((index, place) => index !== theirs[place]);
  return at === -1 ? 0 : (ours[at] ?? 0) - (theirs[at] ?? 0);
}

function indexesOf(steps: readonly Candidate[]): readonly number[] {
  return steps.map(({ endpoint }) => endpoint.index).sort((x, y) => x - y);
}
