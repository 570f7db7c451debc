/** Limited places shared among owners, with two rules of fairness. */

import { Tally } from "./tally.ts";
import type { TaskOwner } from "./task-queue.ts";

/**
 * A limited number of places, shared by caller: no caller holds more than half, and the next place
 * goes to the caller with the fewest, then to the one served longest ago. The server itself, with
 * an empty name, may hold more than half.
 */
export class FairShares {
  readonly #all: number;
  readonly #perOwner: number;
  readonly #held = new Tally();
  /** The turn of each owner's last place, latest last. */
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

  /** Returns the owner whose turn it is; undefined if none may have another place. */
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

  /** Takes a place; returns the function that releases it. */
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

/** The number of owners whose last turn is remembered. */
const MAX_REMEMBERED = 1_000;

interface Waiting {
  take(release: () => void): void;
}

/** Queues for a limited number of places, shared by caller; an aborted wait leaves the queue. */
export class FairSlots {
  readonly #shares: FairShares;
  /** The queue of each owner. */
  readonly #waiting = new Map<string, Set<Waiting>>();

  constructor(all: number) {
    this.#shares = new FairShares(all);
  }

  /** Resolves to the function that releases the place; rejects when the signal aborts. */
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

/** Releases a place, once. */
export type Leave = () => void;

interface Holding {
  readonly owner: TaskOwner;
}

/** The number of held places: in all, by the owner, and by all unknown owners. */
export interface HeldPlaces {
  readonly all: number;
  readonly own: number;
  readonly strangers: number;
}

/**
 * Tells whether an owner may take another of these places. Nobody holds more places than are left
 * free, and unknown owners hold at most half of them, so that there is always a place for another
 * owner.
 */
export function mayHold(owner: TaskOwner, places: number, holdings: readonly Holding[]): boolean {
  const isOwn = (one: TaskOwner): boolean => one.key === owner.key && one.isKnown === owner.isKnown;
  return mayHoldMore(owner, places, {
    all: holdings.length,
    own: holdings.filter((held) => isOwn(held.owner)).length,
    strangers: holdings.filter((held) => !held.owner.isKnown).length,
  });
}

/** Tells whether an owner with these holdings may take another place. */
export function mayHoldMore(
  { isKnown }: Pick<TaskOwner, "isKnown">,
  places: number,
  { all, own, strangers }: HeldPlaces,
): boolean {
  const free = places - all;
  if (free <= 0 || (own > 0 && own >= free)) return false;
  return isKnown || strangers < Math.max(1, Math.floor(places / 2));
}

/** A limited number of places, given out at once or not at all. */
export class Places {
  readonly #count: number;
  readonly #held = new Set<Holding>();

  constructor(count: number) {
    this.#count = count;
  }

  /** Takes a place at once; undefined if none is available to this owner now. */
  take(owner: TaskOwner): Leave | undefined {
    return mayHold(owner, this.#count, [...this.#held]) ? this.#enter(owner) : undefined;
  }

  #enter(owner: TaskOwner): Leave {
    const holding = { owner };
    this.#held.add(holding);
    return () => void this.#held.delete(holding);
  }
}
