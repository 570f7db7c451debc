/**
 * The execution of one request under its Idempotency-Key, and identical requests that arrive meanwhile: a bounded
 * number of them wait for its response, each as long as its caller stays.
 */
import { raceAbort } from "../../base/deadline.ts";
import type { KeptResponse } from "./kept-response.ts";

/** The outcome of an execution for its waiters. */
export type ExecutionOutcome =
  | { readonly kind: "answered"; readonly response: KeptResponse }
  /** It ended before the handler was called. */
  | { readonly kind: "not-begun" }
  /** Another process has the key. */
  | { readonly kind: "elsewhere" }
  /** It ended without a known result. */
  | { readonly kind: "unknown" };

/** The store operations of an execution; each settles once stored. */
interface ExecutionSteps {
  /** Resolves with false if another writer began first. */
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
    // Usually nobody waits for it.
    this.#outcome.catch(() => undefined);
  }

  /** Resolves once the key is stored, and the handler may be called. False if another process has the key. */
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

  /** Resolves once the response is stored, or only the fact of it if it may not be kept; waiters get it in any case. */
  async answer(response: KeptResponse, isKept = true): Promise<void> {
    try {
      await this.#steps.answer(response, isKept);
    } finally {
      this.#resolve({ kind: "answered", response });
    }
  }

  /** Frees the key, since nothing was done. Waiters get the response, if there is one. */
  async release(response?: KeptResponse): Promise<void> {
    try {
      await this.#steps.release();
    } finally {
      this.#resolve(response ? { kind: "answered", response } : { kind: "not-begun" });
    }
  }

  /** Leaves the key taken without a response, since the outcome is unknown. */
  abandon(): void {
    this.#steps.abandon();
    this.#resolve({ kind: "unknown" });
  }

  /** Resolves with undefined if too many wait already, or the caller left. */
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
