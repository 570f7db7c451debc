/**
 * Places that owners have between them. Nobody holds more of them than it leaves free, and all who
 * are not known hold half of them at most: however many ask, somebody else finds one. Where none is
 * free one may wait, and who holds least is next.
 */
import type { TaskOwner } from "./task-queue.ts";

/** Gives a place back; once. */
export type Leave = () => void;

/** Places by their owners. */
interface Holding {
  readonly owner: TaskOwner;
}

/** The number of places that are held: in all, by one owner, and by all who are not known. */
export interface HeldPlaces {
  readonly all: number;
  readonly own: number;
  readonly strangers: number;
}

/** Tells whether an owner may have one more of so many places. */
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
