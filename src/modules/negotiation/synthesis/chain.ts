/** Orders endpoints into callable chains, removes unnecessary steps, and compares chains. */
import { IMPACTS } from "../../../endpoint/endpoint.ts";
import { compareNumbers, type IndexedEndpoint, type Input } from "./endpoint-index.ts";
import type { Levels } from "./levels.ts";
import { type Ask, gives, type SynthesisTask } from "./synthesis-task.ts";

/** A goal of a plan: a wanted output, or an input that is not offered. */
export type Goal = Ask | Input;

/** An endpoint that may become a step. */
export interface Candidate {
  readonly endpoint: IndexedEndpoint;
  readonly needs: readonly Input[];
  readonly supplies: ReadonlySet<Goal>;
  /** The proposed inputs that it takes. */
  readonly takes: readonly string[];
  /** The number of its optional inputs without an offer. */
  readonly unfed: number;
  /** The earliest step that it can be. */
  readonly level: number;
}

/** The candidates of one task, created on demand, one per endpoint. */
export class Candidates {
  readonly #task: SynthesisTask;
  readonly #levels: Levels;
  readonly #known = new Map<IndexedEndpoint, Candidate>();

  constructor(task: SynthesisTask, levels: Levels) {
    this.#task = task;
    this.#levels = levels;
  }

  /** Tells whether an endpoint's candidate exists already. */
  has(endpoint: IndexedEndpoint): boolean {
    return this.#known.has(endpoint);
  }

  of(endpoint: IndexedEndpoint): Candidate {
    const known = this.#known.get(endpoint);
    if (known !== undefined) return known;
    const candidate = this.#create(endpoint);
    this.#known.set(endpoint, candidate);
    return candidate;
  }

  #create(endpoint: IndexedEndpoint): Candidate {
    const { required, optional, feeds } = endpoint;
    const isOffered = (input: Input): boolean => this.#task.isOffered(input);
    const fed = feeds.filter((input) => !isOffered(input));
    const asks = this.#task.asks.filter((ask) => gives(endpoint, ask));
    return {
      endpoint,
      needs: required.filter((input) => !isOffered(input)),
      supplies: new Set<Goal>([...fed, ...asks]),
      takes: [...required, ...optional].filter(isOffered).map(({ name }) => name),
      unfed: optional.filter((input) => !isOffered(input)).length,
      level: this.#levels.ofEndpoint(endpoint),
    };
  }
}

/** Steps in callable order, and those whose needs are never met. */
interface Arrangement {
  readonly ordered: readonly Candidate[];
  readonly stuck: readonly Candidate[];
}

/** Orders steps by their needs, then weaker impact, then name. */
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

/** Tells whether a step supplies a goal. */
export function isMet(goal: Goal, steps: readonly Candidate[]): boolean {
  return steps.some(({ supplies }) => supplies.has(goal));
}

function isPlan(steps: readonly Candidate[], goals: readonly Goal[]): boolean {
  return goals.every((goal) => isMet(goal, steps)) && arrange(steps).stuck.length === 0;
}

/** Removes steps that the others do not need. */
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
 * Compares two chains: fewer steps, then weaker impact, then fewer unmatched inputs on either side, then method and
 * path.
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
    compareNumbers(indexesOf(a), indexesOf(b))
  );
}

function byCaution(a: Candidate, b: Candidate): number {
  return impactRank([a]) - impactRank([b]) || a.endpoint.index - b.endpoint.index;
}

function impactRank(steps: readonly Candidate[]): number {
  return Math.max(...steps.map(({ endpoint }) => IMPACTS.indexOf(endpoint.impact)));
}

/** The number of proposed inputs that no step takes, plus that of step inputs not offered. */
function countUnneeded(steps: readonly Candidate[], offered: number): number {
  const taken = new Set(steps.flatMap(({ takes }) => takes));
  const unfed = steps.reduce((sum, step) => sum + step.unfed, 0);
  return offered - taken.size + unfed;
}

function indexesOf(steps: readonly Candidate[]): readonly number[] {
  return steps.map(({ endpoint }) => endpoint.index).sort((x, y) => x - y);
}
