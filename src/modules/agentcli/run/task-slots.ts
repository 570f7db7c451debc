/**
 * How many runs there may be at once: of one task, as its overlap policy has it, and of all tasks
 * together. A run that has to wait does not hold the place of one that need not.
 */

import { type Leave, Places } from "../../../base/places.ts";
import type { TaskOwner } from "../../../base/task-queue.ts";

/** A place; to be given back. */
export interface Slot {
  readonly kind: "slot";
  release(): void;
}

/** There is none. */
export interface NoSlot {
  readonly kind: "none";
  readonly message: string;
}

/** How a task gets along with itself; "allow" where nothing is declared. */
export interface Overlap {
  readonly policy: "skip" | "allow" | "queue";
  readonly maxQueued: number;
}

const MAX_RUNNING = 32;
/** Further ones wait, up to so many, and who holds least is next. */
const MAX_WAITING = 256;
const NOBODY = "nobody waits for the run any more";

/** The places of all tasks. */
export class TaskSlots {
  readonly #running = new Map<string, number>();
  readonly #queues = new Map<string, (() => void)[]>();
  /** For runs that have a place of their task. */
  readonly #all = new Places(MAX_RUNNING);

  /** Takes a place, waiting for it where the policy is to queue. */
  async take(
    taskId: string,
    overlap: Overlap,
    { owner, signal }: { readonly owner: TaskOwner; readonly signal: AbortSignal },
  ): Promise<Slot | NoSlot> {
    const running = this.#running.get(taskId) ?? 0;
    if (running > 0 && overlap.policy === "skip") return none("the task is running already");
    if (running > 0 && overlap.policy === "queue") {
      const queue = this.#queues.get(taskId) ?? [];
      if (queue.length >= overlap.maxQueued) return none("too many runs of the task are waiting");
      this.#queues.set(taskId, queue);
      if (!(await waitIn(queue, signal))) return none(NOBODY);
    } else this.#running.set(taskId, running + 1);
    const leave: Leave | undefined = await this.#all.wait(owner, signal, MAX_WAITING);
    if (leave === undefined) {
      this.#leave(taskId);
      return none(signal.aborted ? NOBODY : "too many tasks are running");
    }
    let isReleased = false;
    return {
      kind: "slot",
      release: () => {
        if (isReleased) return;
        isReleased = true;
        leave();
        this.#leave(taskId);
      },
    };
  }

  #leave(taskId: string): void {
    const next = this.#queues.get(taskId)?.shift();
    if (next !== undefined) {
      next();
      return;
    }
    this.#queues.delete(taskId);
    const running = (this.#running.get(taskId) ?? 1) - 1;
    if (running === 0) this.#running.delete(taskId);
    else this.#running.set(taskId, running);
  }
}

/** False when nobody waits any more. A place is handed on, so that nobody gets in between. */
function waitIn(queue: (() => void)[], signal: AbortSignal): Promise<boolean> {
  return new Promise((resolve) => {
    const start = (): void => {
      signal.removeEventListener("abort", give);
      resolve(true);
    };
    const give = (): void => {
      const at = queue.indexOf(start);
      if (at !== -1) queue.splice(at, 1);
      resolve(false);
    };
    if (signal.aborted) resolve(false);
    else {
      signal.addEventListener("abort", give, { once: true });
      queue.push(start);
    }
  });
}

function none(message: string): NoSlot {
  return { kind: "none", message };
}
