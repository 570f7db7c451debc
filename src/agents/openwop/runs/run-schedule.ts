/**
 * Which run is executed next: as many at once as the deployment allows, and one of each owner in
 * turn, so that nobody's thousand runs keep another's one from being executed.
 */
import { ownerKey } from "./run.ts";
import type { RunEntry } from "./run-storage.ts";

type Waiting = Pick<RunEntry, "runId" | "tenant" | "principal">;

/** Why a run is not executed any further. */
export type RunStop =
  | { readonly kind: "cancelled"; readonly reason?: string; readonly by: string }
  | { readonly kind: "timeout"; readonly limitMs: number };

/** Who executes, and how many at once. */
export interface RunExecutor {
  readonly concurrent: number;
  /** Never rejects; the reason of the signal is a `RunStop`. */
  execute(runId: string, stop: AbortController): Promise<void>;
}

export class RunSchedule {
  /** By owner, in the order in which their turn comes. */
  readonly #queues = new Map<string, Set<string>>();
  readonly #executing = new Map<string, AbortController>();
  #executor: RunExecutor | undefined;

  /** Whether a run is in somebody's hands, or about to be. */
  has({ runId, ...owner }: Waiting): boolean {
    return this.#executing.has(runId) || (this.#queues.get(ownerKey(owner))?.has(runId) ?? false);
  }

  /** Whether the run is being executed, and is told to stop. */
  stop(runId: string, why: RunStop): boolean {
    const executing = this.#executing.get(runId);
    executing?.abort(why);
    return executing !== undefined;
  }

  /** From now on runs are executed by somebody else; what is executed already stays where it is. */
  use(executor: RunExecutor): void {
    this.#executor = executor;
    this.#fill();
  }

  /** No run is begun until there is an executor again. */
  pause(executor: RunExecutor): void {
    if (this.#executor === executor) this.#executor = undefined;
  }

  add(run: Waiting): void {
    const owner = ownerKey(run);
    const queue = this.#queues.get(owner);
    if (queue === undefined) this.#queues.set(owner, new Set([run.runId]));
    else queue.add(run.runId);
    this.#fill();
  }

  /** A run that was not begun. */
  remove({ runId, ...owner }: Waiting): void {
    const key = ownerKey(owner);
    const queue = this.#queues.get(key);
    queue?.delete(runId);
    if (queue?.size === 0) this.#queues.delete(key);
  }

  #fill(): void {
    const executor = this.#executor;
    if (executor === undefined) return;
    while (this.#executing.size < executor.concurrent) {
      const runId = this.#take();
      if (runId === undefined) return;
      const stop = new AbortController();
      this.#executing.set(runId, stop);
      void executor.execute(runId, stop).finally(() => {
        this.#executing.delete(runId);
        this.#fill();
      });
    }
  }

  #take(): string | undefined {
    for (const [owner, queue] of this.#queues) {
      // A run that was resumed while it ended its last round waits for that end.
      const runId = [...queue].find((one) => !this.#executing.has(one));
      if (runId === undefined) continue;
      this.#queues.delete(owner);
      queue.delete(runId);
      if (queue.size > 0) this.#queues.set(owner, queue);
      return runId;
    }
    return undefined;
  }
}
