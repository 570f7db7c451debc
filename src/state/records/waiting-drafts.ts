/**
 * Drafts that are not settled, in order, and those who wait for them. They stand in an array and not in a
 * Map: V8 has each table of a Map that grew or shrank name the next one, so that one which came to the old
 * generation keeps all later ones, with their drafts, until that is collected. Two workers
 * with their parent took 34 µs a request with it, and 23 without, at 16 x 16 with unsigned records.
 */

import type { OnSettled } from "./draft-writer.ts";
import type { Chain, RecordDraft } from "./record.ts";

interface Waiter {
  /** The number of the last draft that it waits for. */
  readonly until: number;
  readonly done: OnSettled;
  failure: Error | undefined;
}

/** So many places of settled drafts are kept before the array is made shorter. */
const MOST_SETTLED = 4_096;

export class WaitingDrafts {
  /** In the order of their numbers; undefined: it is settled. */
  #drafts: (RecordDraft | undefined)[] = [];
  /** The number of the first of them. */
  #first = 1;
  /** The index of the first that is not settled. */
  #oldest = 0;
  readonly #waiters: Waiter[] = [];

  add(draft: RecordDraft): void {
    draft.number = this.#first + this.#drafts.length;
    this.#drafts.push(draft);
  }

  /** Calls back once all drafts that are here are settled; at once without any. */
  wait(done: OnSettled): void {
    const { length } = this.#drafts;
    if (this.#oldest === length) done(undefined);
    else this.#waiters.push({ until: this.#first + length - 1, done, failure: undefined });
  }

  /** Takes a draft that is kept, or with why it is not. */
  settle(draft: RecordDraft, failure?: Error): void {
    const { number } = draft;
    const index = number - this.#first;
    if (this.#drafts[index] !== draft) return;
    this.#drafts[index] = undefined;
    if (index === this.#oldest) this.#forget();
    if (failure === undefined) return;
    for (const waiter of this.#waiters) if (waiter.until >= number) waiter.failure ??= failure;
  }

  /** Calls back those whose drafts are settled; a callback may add more. */
  tell(): void {
    const settled = this.#first + this.#oldest - 1;
    for (let next = this.#waiters[0]; next !== undefined; next = this.#waiters[0]) {
      if (next.until > settled) return;
      this.#waiters.shift();
      next.done(next.failure);
    }
  }

  *chains(): Generator<Chain> {
    for (const draft of this.#drafts) if (draft?.chain !== undefined) yield draft.chain;
  }

  /** Leaves what is settled at the beginning behind. */
  #forget(): void {
    const drafts = this.#drafts;
    while (this.#oldest < drafts.length && drafts[this.#oldest] === undefined) this.#oldest += 1;
    if (this.#oldest < drafts.length && this.#oldest < MOST_SETTLED) return;
    this.#drafts = drafts.slice(this.#oldest);
    this.#first += this.#oldest;
    this.#oldest = 0;
  }
}
