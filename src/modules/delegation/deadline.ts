/**
 * The time that a task may take: until its deadline, at most what the server allows, and no longer
 * than somebody waits for it. Whatever waits for the work is told when it is over.
 */
import { Deadline, raceAbort } from "../../base/deadline.ts";
import { delegationFailed, type WorkOutcome } from "../../dispatch/refusals/delegation-refusals.ts";
import type { Refusal } from "../../dispatch/refusals/refusal.ts";

/** Clear it, whatever the task came to. */
export class TaskTime {
  readonly deadline: number;
  readonly #time: Deadline;

  /** `deadline` is in milliseconds since the epoch; `caller` aborts when nobody waits any more. */
  constructor(deadline: number, caller: AbortSignal) {
    this.deadline = deadline;
    this.#time = new Deadline({ signals: [caller], timeoutMs: Math.max(0, deadline - Date.now()) });
  }

  get signal(): AbortSignal {
    return this.#time.signal;
  }

  get isOver(): boolean {
    return this.signal.aborted;
  }

  /**
   * The result of the work, unless its time was over before; a fault that comes later is nobody's.
   */
  race<T>(work: Promise<T>): Promise<T | "aborted"> {
    return raceAbort(work, this.signal);
  }

  /** Why the task is over, and what is known of the work. */
  refusal(outcome: WorkOutcome): Refusal {
    if (!this.#time.isTimeOver) {
      return delegationFailed("aborted", "the task was given up before it was done", outcome);
    }
    const explanation = "the task was not done by its deadline";
    const deadline = new Date(this.deadline).toISOString();
    return delegationFailed("deadline", explanation, outcome, { deadline });
  }

  clear(): void {
    this.#time.clear();
  }
}
