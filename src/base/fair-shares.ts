/** Places that owners have between them, by two rules of what is fair. */

import { Tally } from "./tally.ts";
import type { TaskOwner } from "./task-queue.ts";

/**
 * Places that only so many may have at once, shared by caller: no caller has more than half of them,
 * and the next one goes to the caller with the fewest, of equals to the one that had its last longest ago. The server itself,
 * whose name is empty, is bound by its turn alone.
 */
export class FairShares {
  readonly #all: number;
  readonly #perOwner: number;
  readonly #held = new Tally();
  /** When each owner took its last place, the latest of them last. */
  readonly #servedAt = new Map<string, number>();
  #taken = 0;
  #services = 0;

  constructor(all: number) {
    this.#all = all;
    this.#perOwner = Math.ceil(all / 2);
  }

  get isFull(): boolean {
    return this.#taken >= this.#all;
  }

  /** The owner whose turn it is; undefined where none of them may have one more. */
  next(owners: Iterable<string>): string | undefined {
    if (this.isFull) return undefined;
    let first: { readonly owner: string; readonly held: number; readonly at: number } | undefined;
    for (const owner of owners) {
      const held = this.#held.of(owner);
      if (held >= this.#perOwner && owner !== "") continue;
      const at = this.#servedAt.get(owner) ?? 0;
      const isBefore = first === undefined || held < first.held;
      if (isBefore || (held === first?.held && at < first.at)) first = { owner, held, at };
    }
    return first?.owner;
  }

  /** Takes a place; the function that is answered gives it back. */
  take(owner: string): () => void {
    this.#taken += 1;
    this.#services += 1;
    this.#held.add(owner);
    this.#remember(owner);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#taken -= 1;
      this.#held.remove(owner);
    };
  }

  #remember(owner: string): void {
    this.#servedAt.delete(owner);
    this.#servedAt.set(owner, this.#services);
    const [oldest] = this.#servedAt.keys();
    if (this.#servedAt.size > MAX_REMEMBERED && oldest !== undefined) {
      this.#servedAt.delete(oldest);
    }
  }
}

/** An owner that was served longer ago counts as never served. */
const MAX_REMEMBERED = 1_000;

interface Waiting {
  take(release: () => void): void;
}

/** Waits for one of few places, shared by caller; who does not want it any more waits no longer. */
export class FairSlots {
  readonly #shares: FairShares;
  /** Of each owner, in the order in which they came. */
  readonly #waiting = new Map<string, Set<Waiting>>();

  constructor(all: number) {
    this.#shares = new FairShares(all);
  }

  /** Resolves with what gives the place back; rejects when the signal says that nobody waits. */
  take(owner: string, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const own = this.#waiting.get(owner) ?? new Set();
      this.#waiting.set(owner, own);
      const giveUp = (): void => {
        this.#remove(owner, waiting);
        reject(signal.reason);
      };
      const waiting: Waiting = {
        take: (release) => {
          signal.removeEventListener("abort", giveUp);
          resolve(release);
        },
      };
      own.add(waiting);
      signal.addEventListener("abort", giveUp, { once: true });
      this.#serve();
    });
  }

  #serve(): void {
    const owners = this.#waiting.keys();
    for (let owner = this.#shares.next(owners); owner !== undefined; ) {
      const [first] = this.#waiting.get(owner) ?? [];
      if (first === undefined) return;
      this.#remove(owner, first);
      const release = this.#shares.take(owner);
      first.take(() => {
        release();
        this.#serve();
      });
      owner = this.#shares.next(this.#waiting.keys());
    }
  }

  #remove(owner: string, waiting: Waiting): void {
    const own = this.#waiting.get(owner);
    own?.delete(waiting);
    if (own?.size === 0) this.#waiting.delete(owner);
  }
}

/** Gives a place back; once. */
export type Leave = () => void;

interface Holding {
  readonly owner: TaskOwner;
}

/** The number of places that are held: in all, by one owner, and by all who are not known. */
export interface HeldPlaces {
  readonly all: number;
  readonly own: number;
  readonly strangers: number;
}

/**
 * Tells whether an owner may have one more of so many places. Nobody holds more of them than it leaves
 * free, and all who are not known hold half of them at most: however many ask, somebody else finds one.
 */
export function mayHold(owner: TaskOwner, places: number, holdings: readonly Holding[]): boolean {
  const isOwn = (one: TaskOwner): boolean => one.key === owner.key && one.isKnown === owner.isKnown;
  return mayHoldMore(owner, places, {
    all: holdings.length,
    own: holdings.filter((held) => isOwn(held.owner)).length,
    strangers: holdings.filter((held) => !held.owner.isKnown).length,
  });
}

/** Tells whether who holds so many may have one more. */
export function mayHoldMore(
  { isKnown }: Pick<TaskOwner, "isKnown">,
  places: number,
  { all, own, strangers }: HeldPlaces,
): boolean {
  const free = places - all;
  if (free <= 0 || (own > 0 && own >= free)) return false;
  return isKnown || strangers < Math.max(1, Math.floor(places / 2));
}

/** So many places. */
export class Places {
  readonly #count: number;
  readonly #held = new Set<Holding>();

  constructor(count: number) {
    this.#count = count;
  }

  /** A place at once; undefined: there is none for this owner now. */
  take(owner: TaskOwner): Leave | undefined {
    return mayHold(owner, this.#count, [...this.#held]) ? this.#enter(owner) : undefined;
  }

  #enter(owner: TaskOwner): Leave {
    const holding = { owner };
    this.#held.add(holding);
    return () => void this.#held.delete(holding);
  }
}
