/** Drafts that are not settled, in order, and those who wait for them. */
import type { Chain, RecordDraft } from "./draft.ts";
import type { Settled } from "./draft-writer.ts";

interface Waiter {
  /** The number of the last draft that it waits for. */
  readonly until: number;
  readonly done: Settled;
  failure: Error | undefined;
}

export class WaitingDrafts {
  /** The drafts by their numbers, in order. */
  readonly #drafts = new Map<RecordDraft, number>();
  readonly #waiters: Waiter[] = [];
  #number = 0;

  add(draft: RecordDraft): void {
    this.#number += 1;
    this.#drafts.set(draft, this.#number);
  }

  /** Calls back once all drafts that are here are settled; at once without any. */
  wait(done: Settled): void {
    if (this.#drafts.size === 0) done(undefined);
    else this.#waiters.push({ until: this.#number, done, failure: undefined });
  }

  /** Takes a draft that is kept, or with why it is not. */
  settle(draft: RecordDraft, failure?: Error): void {
    const number = this.#drafts.get(draft);
    if (number === undefined) return;
    this.#drafts.delete(draft);
    if (failure === undefined) return;
    for (const waiter of this.#waiters) if (waiter.until >= number) waiter.failure ??= failure;
  }

  /** Calls back those whose drafts are settled; a callback may add more. */
  tell(): void {
    const oldest = this.#oldest();
    for (let next = this.#waiters[0]; next !== undefined; next = this.#waiters[0]) {
      if (next.until >= oldest) return;
      this.#waiters.shift();
      next.done(next.failure);
    }
  }

  *chains(): Generator<Chain> {
    for (const { chain } of this.#drafts.keys()) if (chain !== undefined) yield chain;
  }

  /** The number of the first draft that is not settled. */
  #oldest(): number {
    for (const number of this.#drafts.values()) return number;
    return Number.POSITIVE_INFINITY;
  }
}
