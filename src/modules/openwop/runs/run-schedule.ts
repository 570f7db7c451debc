/**
 * Which run is executed next: as many at once as the deployment allows, and one of each owner in
 * turn. Nobody holds more places than it leaves free, so that one owner's thousand long runs keep
 * nobody else's from being executed.
 */
import { ownerKey } from "./run.ts";
import type { RunEntry } from "./run-storage.ts";

type Waiting = Pick<RunEntry, "runId" | "tenant" | "principal">;

/** Why a run is not executed any further. */
export type RunStop =
  | {
      readonly kind: "cancelled";
      readonly reason?: string;
      readonly by: string;
      /** The run that was cancelled, and took this one with it. */
      readonly parentRunId?: string;
    }
  | { readonly kind: "timeout"; readonly limitMs: number }
  /** Whoever pauses it says so in its log. */
  | { readonly kind: "paused" };

/** Who executes, and how many at once. */
export interface RunExecutor {
  readonly concurrent: number;
  /** Never rejects; the reason of the signal is a `RunStop`. */
  execute(runId: string, stop: AbortController): Promise<void>;
}

/** A run in somebody's hands. */
interface Execution {
  readonly owner: string;
  readonly stop: AbortController;
}

export class RunSchedule {
  /** By owner, in the order in which their turn comes. */
  readonly #queues = new Map<string, Set<string>>();
  readonly #executing = new Map<string, Execution>();
  /** How many runs of an owner are being executed. */
  readonly #held = new Map<string, number>();
  #executor: RunExecutor | undefined;

  /** Whether a run is in somebody's hands, or about to be. */
  has({ runId, ...owner }: Waiting): boolean {
    return this.#executing.has(runId) || (this.#queues.get(ownerKey(owner))?.has(runId) ?? false);
  }

  /** Whether the run is being executed, and is told to stop. */
  stop(runId: string, why: RunStop): boolean {
    const executing = this.#executing.get(runId);
    executing?.stop.abort(why);
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
      const next = this.#take(executor.concurrent - this.#executing.size);
      if (next === undefined) return;
      this.#execute(executor, next.runId, next.owner);
    }
  }

  #execute(executor: RunExecutor, runId: string, owner: string): void {
    const stop = new AbortController();
    this.#executing.set(runId, { owner, stop });
    this.#held.set(owner, this.#heldBy(owner) + 1);
    void executor.execute(runId, stop).finally(() => {
      this.#executing.delete(runId);
      const left = this.#heldBy(owner) - 1;
      if (left === 0) this.#held.delete(owner);
      else this.#held.set(owner, left);
      this.#fill();
    });
  }

  #take(free: number): { readonly runId: string; readonly owner: string } | undefined {
    for (const [owner, queue] of this.#queues) {
      const held = this.#heldBy(owner);
      if (held > 0 && held >= free) continue;
      // A run that was resumed while it ended its last round waits for that end.
      const runId = [...queue].find((one) => !this.#executing.has(one));
      if (runId === undefined) continue;
      this.#queues.delete(owner);
      queue.delete(runId);
      if (queue.size > 0) this.#queues.set(owner, queue);
      return { runId, owner };
    }
    return undefined;
  }

  #heldBy(owner: string): number {
    return this.#held.get(owner) ?? 0;
  }
}
