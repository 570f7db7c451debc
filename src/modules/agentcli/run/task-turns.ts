/**
 * Mutual exclusion of a task's runs across nodes: one at a time. A lost node's turn becomes free.   agentcli spec
 * "Overlap"
 */
import { hash } from "node:crypto";
import { type BackOff, pauseAfter } from "../../../base/back-off.ts";
import { type Ends, within } from "../../../base/deadline.ts";
import { uuidv7 } from "../../../identity/uuid.ts";
import { Collection } from "../../../state/collection.ts";
import { type Holders, holding, isLeft } from "../../../state/holders.ts";
import { recordReader } from "../../../state/records/stored-record.ts";
import type { Store } from "../../../state/store.ts";

/** The turn of a task, held by at most one run. */
interface TaskTurn {
  readonly turnId: string;
  readonly heldBy?: string;
}

/** A held turn; `end` must always be called. */
export interface TakenTurn {
  /** Never rejects: an unavailable store does not change the run's outcome. */
  end(): Promise<void>;
}

/** The back-off of retries on an unavailable store. */
const LATER: BackOff = { firstMs: 500, longestMs: 30_000 };

export class TaskTurns {
  readonly #turns: Collection<TaskTurn>;
  readonly #holders: Holders;
  readonly #waiting: Set<() => void>;

  private constructor(turns: Collection<TaskTurn>, holders: Holders, waiting: Set<() => void>) {
    this.#turns = turns;
    this.#holders = holders;
    this.#waiting = waiting;
  }

  /** Opens the turns shared by the nodes of a store. */
  static async open(store: Store, holders: Holders): Promise<TaskTurns> {
    const waiting = new Set<() => void>();
    const wake = (): void => {
      for (const look of [...waiting]) look();
    };
    const turns = await Collection.open<TaskTurn>(store, {
      name: "agentcli-turns",
      read: recordReader<TaskTurn>({ turnId: "string" }),
      onChange: wake,
    });
    holders.watch(wake);
    return new TaskTurns(turns, holders, waiting);
  }

  /** Takes a free turn; undefined if it is held. */
  async take(taskId: string): Promise<TakenTurn | undefined> {
    const key = hash("sha256", taskId);
    await this.#turns.take(key, (turn) => isLeft(this.#holders, turn));
    const turn = holding(this.#holders, { turnId: uuidv7() });
    try {
      const adding = await this.#turns.add(key, turn);
      if (adding.kind !== "added") return undefined;
    } catch (error) {
      // The turn may have been stored all the same.
      void this.#giveBack(key, turn, 1);
      throw error;
    }
    return { end: () => this.#giveBack(key, turn) };
  }

  /** Releases a turn, retrying until the store is available, since no other node would. Never rejects. */
  async #giveBack(key: string, turn: TaskTurn, attempts = 0): Promise<void> {
    try {
      if (attempts > 0) await this.#turns.refresh();
      await this.#turns.take(key, ({ turnId }) => turnId === turn.turnId);
    } catch {
      const again = (): void => void this.#giveBack(key, turn, attempts + 1);
      setTimeout(again, pauseAfter(attempts, LATER)).unref();
    }
  }

  /** Waits for a turn; undefined once the wait ends. */
  async await(taskId: string, ends: Ends): Promise<TakenTurn | undefined> {
    const key = hash("sha256", taskId);
    return within(ends, async (signal) => {
      while (!signal.aborted) {
        const taken = await this.take(taskId);
        if (taken !== undefined) return taken;
        await this.#untilFree(key, signal);
      }
      return undefined;
    });
  }

  #untilFree(key: string, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const leave = (): void => {
        signal.removeEventListener("abort", leave);
        this.#waiting.delete(look);
        resolve();
      };
      const look = (): void => {
        const turn = this.#turns.get(key);
        const isFree = turn === undefined || isLeft(this.#holders, turn);
        // An already aborted signal emits no event.
        if (isFree || signal.aborted) leave();
      };
      signal.addEventListener("abort", leave, { once: true });
      this.#waiting.add(look);
      look();
    });
  }
}
