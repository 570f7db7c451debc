/** Waits for runs: until they stand as somebody wants them, or until nobody waits any longer. */
import { type Ends, within } from "../base/deadline.ts";

export class RunWaits {
  readonly #looks = new Map<string, Set<() => void>>();

  /** Resolves when `isDone`, or when the wait is ended; what becomes of the run is not its matter. */
  async until(runId: string, isDone: () => boolean, wait: Ends): Promise<void> {
    if (isDone() || (wait.timeoutMs !== undefined && wait.timeoutMs <= 0)) return;
    await within(wait, (signal) => this.#watch(runId, isDone, signal));
  }

  /** Has everybody look who waits for a run. */
  wake(runId: string): void {
    for (const look of [...(this.#looks.get(runId) ?? [])]) look();
  }

  #watch(runId: string, isDone: () => boolean, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const looks = this.#looks.get(runId) ?? new Set();
      const leave = (): void => {
        signal.removeEventListener("abort", leave);
        looks.delete(look);
        if (looks.size === 0 && this.#looks.get(runId) === looks) this.#looks.delete(runId);
        resolve();
      };
      const look = (): void => {
        if (isDone()) leave();
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#looks.set(runId, looks.add(look));
    });
  }
}
