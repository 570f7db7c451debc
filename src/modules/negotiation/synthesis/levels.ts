/**
 * Finds the endpoints that can be called at all: forwards from what is offered, each as soon as all
 * that it requires is there. Every link between an endpoint and a property is walked once, as unit
 * propagation over Horn clauses does.
 */
import type { IndexedEndpoint, Input } from "./endpoint-index.ts";
import { type Ask, giversOf, type SynthesisTask } from "./synthesis-task.ts";

/**
 * The number of the step after which something can be had at the soonest; 0: never, or from the
 * start.
 */
export class Levels {
  readonly #task: SynthesisTask;
  readonly #endpoints: Int32Array;
  readonly #inputs: Int32Array;
  /** Inputs that each endpoint still waits for. */
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

  /** The number of endpoints that can be called. */
  get reached(): number {
    return this.#reached;
  }

  /** The number of the step that an endpoint can be at the soonest. */
  ofEndpoint({ index }: IndexedEndpoint): number {
    return this.#endpoints[index] ?? 0;
  }

  /** The number of the step that can give an input at the soonest. */
  ofInput({ id }: Input): number {
    return this.#inputs[id] ?? 0;
  }

  /** The number of the step that can give an asked output at the soonest. */
  ofAsk(ask: Ask): number {
    let lowest = 0;
    for (const giver of giversOf(ask)) {
      const level = this.ofEndpoint(giver);
      if (level > 0 && (lowest === 0 || level < lowest)) lowest = level;
    }
    return lowest;
  }

  /** Round by round, so that a level is the smallest there is. */
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

  /** Adds the endpoints that waited for nothing else. */
  #meet({ takers }: Input, next: IndexedEndpoint[]): void {
    for (const endpoint of takers) {
      const left = (this.#pending[endpoint.index] ?? 0) - 1;
      this.#pending[endpoint.index] = left;
      if (left === 0) next.push(endpoint);
    }
  }
}
