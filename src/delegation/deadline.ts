/**
 * The time that a task may take: until its deadline, at most what the server allows, and no longer
 * than somebody waits for it. Whatever waits for the work is told when it is over.
 */
import { delegationFailed, type WorkOutcome } from "../dispatch/floor-refusals-delegation.ts";
import type { Refusal } from "../dispatch/refusal.ts";

/** Clear it, whatever the task came to. */
export class TaskTime {
  readonly deadline: number;
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #over: Promise<"over">;
  #isLeft = false;

  /** `deadline` is in milliseconds since the epoch; `caller` aborts when nobody waits any more. */
  constructor(deadline: number, caller: AbortSignal) {
    this.deadline = deadline;
    this.#caller = caller;
    this.#over = new Promise((resolve) => {
      this.#controller.signal.addEventListener("abort", () => resolve("over"), { once: true });
    });
    const remaining = Math.max(0, deadline - Date.now());
    this.#timer = setTimeout(() => this.#controller.abort(), remaining);
    if (remaining === 0) this.#controller.abort();
    if (caller.aborted) this.#leave();
    else caller.addEventListener("abort", this.#leave, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isOver(): boolean {
    return this.#controller.signal.aborted;
  }

  /** What the work came to, unless its time was over before; a fault that comes later is nobody's. */
  race<T>(work: Promise<T>): Promise<T | "over"> {
    return Promise.race([work, this.#over]);
  }

  /** Why the task is over, and what is known of the work. */
  refusal(outcome: WorkOutcome): Refusal {
    if (this.#isLeft) {
      return delegationFailed("aborted", "the task was given up before it was done", outcome);
    }
    const explanation = "the task was not done by its deadline";
    const deadline = new Date(this.deadline).toISOString();
    return delegationFailed("deadline", explanation, outcome, { deadline });
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#caller.removeEventListener("abort", this.#leave);
  }

  readonly #leave = (): void => {
    this.#isLeft = true;
    this.#controller.abort();
  };
}
