/**
 * Endpoints as possible steps for one proposal: what each still needs, and what it brings.
 */
import type { IndexedEndpoint, Input } from "./endpoint-index.ts";
import type { Levels } from "./levels.ts";
import { type Ask, gives, type SynthesisTask } from "./synthesis-task.ts";

/** Something that a plan has to come by: an asked output, or an input that is not offered. */
export type Goal = Ask | Input;

/** An endpoint that could be a step. */
export interface Candidate {
  readonly endpoint: IndexedEndpoint;
  readonly needs: readonly Input[];
  readonly supplies: ReadonlySet<Goal>;
  /** The proposed inputs that it takes. */
  readonly takes: readonly string[];
  /** The number of its optional inputs that are not offered. */
  readonly unfed: number;
  /** The number of the step that it can be at the soonest. */
  readonly level: number;
}

/** The candidates of one task, one an endpoint, made when they are asked for. */
export class Candidates {
  readonly #task: SynthesisTask;
  readonly #levels: Levels;
  readonly #known = new Map<IndexedEndpoint, Candidate>();

  constructor(task: SynthesisTask, levels: Levels) {
    this.#task = task;
    this.#levels = levels;
  }

  /** Tells whether an endpoint is a candidate already. */
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
