/**
 * Finds the callable endpoints, forwards from the offered inputs: each once its required inputs are available. Every
 * link is followed once, as in unit propagation over Horn clauses.
 */
import type { IndexedEndpoint, Input } from "./endpoint-index.ts";
import { type Ask, giversOf, type SynthesisTask } from "./synthesis-task.ts";

/** The earliest step that provides something; 0 if it never is, or is offered from the start. */
export class Levels {
  readonly #task: SynthesisTask;
  readonly #endpoints: Int32Array;
  readonly #inputs: Int32Array;
  /** The number of inputs that each endpoint still needs. */
  readonly #pending: Int32Array;
  #reached = 0;

  constructor(task: SynthesisTask) {
    this.#task = task;
    const { endpoints, inputCount, requiredCounts } = task.index;
    this.#endpoints = new Int32Array(endpoints.length);
    this.#inputs = new Int32Array(inputCount);
    this.#pending = Int32Array.from(requiredCounts);
    this.#propagate();
  }

  /** The number of callable endpoints. */
  get reached(): number {
    return this.#reached;
  }

  /** The earliest step that an endpoint can be. */
  ofEndpoint({ index }: IndexedEndpoint): number {
    return this.#endpoints[index] ?? 0;
  }

  /** The earliest step that supplies an input. */
  ofInput({ id }: Input): number {
    return this.#inputs[id] ?? 0;
  }

  /** The earliest step that supplies a wanted output. */
  ofAsk(ask: Ask): number {
    let lowest = 0;
    for (const giver of giversOf(ask)) {
      const level = this.ofEndpoint(giver);
      if (level > 0 && (lowest === 0 || level < lowest)) lowest = level;
    }
    return lowest;
  }

  /** Breadth first, so that every level is minimal. */
  #propagate(): void {
    const { offered, index } = this.#task;
    let ready = [...index.undemanding];
    for (const input of offered) this.#meet(input, ready);
    for (let level = 1; ready.length > 0; level += 1) {
      const next: IndexedEndpoint[] = [];
      for (const endpoint of ready) {
        if (!this.#task.isUsable(endpoint)) continue;
        this.#endpoints[endpoint.index] = level;
        this.#reached += 1;
        this.#give(endpoint, level, next);
      }
      ready = next;
    }
  }

  #give({ feeds }: IndexedEndpoint, level: number, next: IndexedEndpoint[]): void {
    for (const input of feeds) {
      if (this.#inputs[input.id] !== 0 || this.#task.isOffered(input)) continue;
      this.#inputs[input.id] = level;
      this.#meet(input, next);
    }
  }

  /** Adds the endpoints whose last missing input this is. */
  #meet({ takers }: Input, next: IndexedEndpoint[]): void {
    for (const endpoint of takers) {
      const left = (this.#pending[endpoint.index] ?? 0) - 1;
      this.#pending[endpoint.index] = left;
      if (left === 0) next.push(endpoint);
    }
  }
}
