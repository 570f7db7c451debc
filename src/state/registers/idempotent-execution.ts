/**
 * One request that is executed under its Idempotency-Key, and those who asked for the same while it
 * runs: they wait for its answer, a bounded number of them, each as long as its caller stays.
 */
import { raceAbort } from "../../base/deadline.ts";
import type { KeptResponse } from "./kept-response.ts";

/** How an execution ended for those who wait for it. */
export type ExecutionOutcome =
  | { readonly kind: "answered"; readonly response: KeptResponse }
  /** Ended before the handler was called. */
  | { readonly kind: "not-begun" }
  /** Another process has the key. */
  | { readonly kind: "elsewhere" }
  /** Ended in the middle. */
  | { readonly kind: "unknown" };

/** The steps of an execution on its key; each settles when the store has it. */
interface ExecutionSteps {
  /** False: another writer has begun it. */
  begin(): Promise<boolean>;
  answer(response: KeptResponse, isKept: boolean): Promise<void>;
  release(): Promise<void>;
  abandon(): void;
}

const MAX_WAITING = 256;

export class IdempotentExecution {
  readonly #steps: ExecutionSteps;
  readonly #outcome: Promise<ExecutionOutcome>;
  #resolve: (outcome: ExecutionOutcome) => void = () => undefined;
  #reject: (error: unknown) => void = () => undefined;
  #waiting = 0;

  constructor(steps: ExecutionSteps) {
    this.#steps = steps;
    this.#outcome = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
    // Mostly nobody waits.
    this.#outcome.catch(() => undefined);
  }

  /**
   * Resolves once the key survives the process; the handler may be called then. False: another
   * process has the key.
   */
  async begin(): Promise<boolean> {
    try {
      const isBegun = await this.#steps.begin();
      if (!isBegun) this.#resolve({ kind: "elsewhere" });
      return isBegun;
    } catch (error) {
      this.#reject(error);
      throw error;
    }
  }

  /**
   * Resolves once the response survives the process, or that there was one where it may not be kept;
   * those who wait get it in any case.
   */
  async answer(response: KeptResponse, isKept = true): Promise<void> {
    try {
      await this.#steps.answer(response, isKept);
    } finally {
      this.#resolve({ kind: "answered", response });
    }
  }

  /** Frees the key: nothing was done. Those who wait get the response, if there is one. */
  async release(response?: KeptResponse): Promise<void> {
    try {
      await this.#steps.release();
    } finally {
      this.#resolve(response ? { kind: "answered", response } : { kind: "not-begun" });
    }
  }

  /** Leaves the key taken, without an answer: what was done nobody knows. */
  abandon(): void {
    this.#steps.abandon();
    this.#resolve({ kind: "unknown" });
  }

  /** Undefined: too many wait already, or this one left. */
  async wait(signal: AbortSignal): Promise<ExecutionOutcome | undefined> {
    if (this.#waiting >= MAX_WAITING || signal.aborted) return undefined;
    this.#waiting += 1;
    try {
      const outcome = await raceAbort(this.#outcome, signal);
      return outcome === "aborted" ? undefined : outcome;
    } finally {
      this.#waiting -= 1;
    }
  }
}
