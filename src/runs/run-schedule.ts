/**
 * Which run is executed next, and that no run is executed twice at once: as many as the deployment
 * allows, one of each owner in turn. Nobody holds more places than it leaves free, so that one owner's
 * thousand long runs keep nobody else's from being executed.
 */

/** A run that waits to be executed. */
export interface ScheduledRun {
  readonly runId: string;
  readonly owner: string;
}

/** Executes runs. */
export interface RunExecutor {
  /** How many at once. */
  readonly concurrent: number;
  /** Never rejects; what the signal is aborted with is for the driver to understand. */
  execute(runId: string, stop: AbortController): Promise<void>;
}

interface Execution {
  readonly stop: AbortController;
  readonly executor: RunExecutor;
  readonly ended: Promise<void>;
}

export class RunSchedule {
  /** By owner, in the order in which their turn comes. */
  readonly #queues = new Map<string, Set<string>>();
  readonly #executing = new Map<string, Execution>();
  /** How many runs of an owner are being executed. */
  readonly #held = new Map<string, number>();
  #executor: RunExecutor | undefined;

  /** Whether a run is being executed, or is about to be. */
  has({ runId, owner }: ScheduledRun): boolean {
    return this.#executing.has(runId) || (this.#queues.get(owner)?.has(runId) ?? false);
  }

  /** Tells the execution of a run to stop; false where there is none. */
  stop(runId: string, why: unknown): boolean {
    const executing = this.#executing.get(runId);
    executing?.stop.abort(why);
    return executing !== undefined;
  }

  /** Has runs executed by another from now on; what is executed already stays where it is. */
  use(executor: RunExecutor): void {
    this.#executor = executor;
    this.#fill();
  }

  /** Begins no run until there is an executor again. */
  pause(executor: RunExecutor): void {
    if (this.#executor === executor) this.#executor = undefined;
  }

  /** Resolves when an executor has nothing in its hands any more. */
  async idle(executor: RunExecutor): Promise<void> {
    const executions = [...this.#executing.values()];
    await Promise.all(executions.map((one) => (one.executor === executor ? one.ended : undefined)));
  }

  /** Has a run executed when its turn comes; once more, where it is being executed. */
  add({ runId, owner }: ScheduledRun): void {
    const queue = this.#queues.get(owner);
    if (queue === undefined) this.#queues.set(owner, new Set([runId]));
    else queue.add(runId);
    this.#fill();
  }

  /** Takes back a run whose turn has not come. */
  remove({ runId, owner }: ScheduledRun): void {
    const queue = this.#queues.get(owner);
    queue?.delete(runId);
    if (queue?.size === 0) this.#queues.delete(owner);
  }

  #fill(): void {
    const executor = this.#executor;
    if (executor === undefined) return;
    while (this.#executing.size < executor.concurrent) {
      const next = this.#take(executor.concurrent - this.#executing.size);
      if (next === undefined) return;
      this.#execute(executor, next);
    }
  }

  #execute(executor: RunExecutor, { runId, owner }: ScheduledRun): void {
    const stop = new AbortController();
    // It is among the executions before it does anything.
    const ended = Promise.resolve()
      .then(() => executor.execute(runId, stop))
      .finally(() => this.#end(runId, owner));
    this.#executing.set(runId, { stop, executor, ended });
    this.#held.set(owner, this.#heldBy(owner) + 1);
  }

  #end(runId: string, owner: string): void {
    this.#executing.delete(runId);
    const left = this.#heldBy(owner) - 1;
    if (left === 0) this.#held.delete(owner);
    else this.#held.set(owner, left);
    this.#fill();
  }

  #take(free: number): ScheduledRun | undefined {
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
