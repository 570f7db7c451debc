/**
 * How much each owner keeps in a collection, and what has to go for more of it. What still waits for
 * somebody never goes: an owner that has too much of that is told so, and nobody else loses anything.
 */
import { LargestFirst } from "./largest-first.ts";

/** Bounds of a collection; what is left out is not bounded. */
export interface Quota {
  /** Of one owner: everything, its size (of its JSON, unless it is measured otherwise), and what never goes. */
  readonly perOwner?: number;
  readonly charactersPerOwner?: number;
  readonly openPerOwner?: number;
  /** Of all together. */
  readonly all?: number;
  readonly open?: number;
  readonly characters?: number;
  /** At the bound of all, others lose nothing for somebody who wants more. */
  readonly sparesOthers?: boolean;
  /** At the bound of all, whoever has most makes room, and not whoever has the oldest. */
  readonly takesFromLargest?: boolean;
  /** Nothing is refused: items that never go may exceed every bound. */
  readonly refusesNothing?: boolean;
}

/** How easily an item can be done without, 0 first; undefined for one that never goes. */
export type Rank = number | undefined;

/** One more item, or more of one that is there. */
export interface Wanted {
  readonly owner: string;
  readonly characters: number;
  readonly rank: Rank;
  /** The key of the one that grows: it is not counted again, and does not make room for itself. */
  readonly growing?: string;
}

interface Holding {
  readonly key: string;
  readonly owner: string;
  readonly characters: number;
}

/** Of one owner. */
interface Share {
  readonly holdings: Map<string, Holding>;
  characters: number;
  /** The number of shares before it. */
  readonly number: number;
}

interface Ranked {
  readonly holding: Holding;
  readonly rank: number;
}

type RankOf = (key: string) => Rank;

/** The holdings and characters beyond a bound. */
interface Excess {
  count: number;
  characters: number;
}

type Bounds = Required<Omit<Quota, "open">> & Pick<Quota, "open">;

const UNBOUNDED: Bounds = {
  perOwner: Number.POSITIVE_INFINITY,
  charactersPerOwner: Number.POSITIVE_INFINITY,
  openPerOwner: Number.POSITIVE_INFINITY,
  all: Number.POSITIVE_INFINITY,
  characters: Number.POSITIVE_INFINITY,
  sparesOthers: false,
  takesFromLargest: false,
  refusesNothing: false,
};

function newShare(number: number): Share {
  return { holdings: new Map(), characters: 0, number };
}

const NO_SHARE: Pick<Share, "holdings" | "characters"> = { holdings: new Map(), characters: 0 };

/** The share with most comes first, the oldest of several. */
function byCount(one: Share, other: Share): number {
  return other.holdings.size - one.holdings.size || one.number - other.number;
}

function byCharacters(one: Share, other: Share): number {
  return other.characters - one.characters || one.number - other.number;
}

/** The keys of a collection by their owners. */
export class Holdings {
  readonly #quota: () => Bounds;
  /** The oldest first, as in each owner's set. */
  readonly #holdings = new Map<string, Holding>();
  readonly #byOwner = new Map<string, Share>();
  readonly #byCount = new LargestFirst<Share>(byCount);
  readonly #byCharacters = new LargestFirst<Share>(byCharacters);
  #characters = 0;
  #shares = 0;

  constructor(quota: Quota | (() => Quota) = {}) {
    const fixed = typeof quota === "function" ? undefined : { ...UNBOUNDED, ...quota };
    this.#quota = () => fixed ?? { ...UNBOUNDED, ...(quota as () => Quota)() };
  }

  /** An owner's keys, the oldest first. */
  keysOf(owner: string): Iterable<string> {
    return this.#byOwner.get(owner)?.holdings.keys() ?? [];
  }

  /** Tells whether an owner has any. */
  has(owner: string): boolean {
    return this.#byOwner.has(owner);
  }

  /** Tells whether an owner is refused more of what never goes, by a bound of its own. */
  get refusesOwners(): boolean {
    const { openPerOwner, refusesNothing } = this.#bounds;
    return openPerOwner < Number.POSITIVE_INFINITY && !refusesNothing;
  }

  /** Takes a key in, or its size anew; a key keeps its place. */
  set(key: string, owner: string, characters: number): void {
    const before = this.#holdings.get(key);
    if (before !== undefined && before.owner !== owner) this.delete(key);
    const share = this.#byOwner.get(owner) ?? newShare(this.#shares++);
    this.#byOwner.set(owner, share);
    const growth = characters - (share.holdings.get(key)?.characters ?? 0);
    share.characters += growth;
    this.#characters += growth;
    const holding = { key, owner, characters };
    share.holdings.set(key, holding);
    this.#holdings.set(key, holding);
    this.#arrange(share);
  }

  delete(key: string): void {
    const holding = this.#holdings.get(key);
    if (holding === undefined) return;
    const { owner, characters } = holding;
    this.#holdings.delete(key);
    this.#characters -= characters;
    const share = this.#byOwner.get(owner);
    if (share === undefined) return;
    share.holdings.delete(key);
    share.characters -= characters;
    if (share.holdings.size === 0) this.#byOwner.delete(owner);
    this.#arrange(share);
  }

  #arrange(share: Share): void {
    if (!this.#bounds.takesFromLargest) return;
    for (const shares of [this.#byCount, this.#byCharacters]) {
      if (share.holdings.size === 0) shares.delete(share);
      else shares.set(share);
    }
  }

  /** The keys that go for what is wanted; undefined: there is no room for it. */
  surplus(wanted: Wanted, rankOf: RankOf): readonly string[] | undefined {
    const going = this.#ownSurplus(wanted, rankOf);
    if (going === undefined) return undefined;
    const { all, open = all, characters, sparesOthers } = this.#bounds;
    if (this.#isFull(this.#holdings, open, { wanted, rankOf })) return undefined;
    const count = this.#holdings.size - going.size;
    const left = [...going].reduce((sum, key) => sum - this.#sizeOf(key), this.#characters);
    const excess = {
      count: count + countOf(wanted) - all,
      characters: left + wanted.characters - characters,
    };
    const others = sparesOthers ? [] : this.#spareOfAll(excess, rankOf);
    const isGiven = take(others, { wanted, excess, going }) || this.#isLenient(wanted);
    return isGiven ? [...going] : undefined;
  }

  /** An owner makes room in its own share first. */
  #ownSurplus(wanted: Wanted, rankOf: RankOf): Set<string> | undefined {
    const { perOwner, charactersPerOwner, openPerOwner } = this.#bounds;
    const { holdings, characters } = this.#byOwner.get(wanted.owner) ?? NO_SHARE;
    if (this.#isFull(holdings, openPerOwner, { wanted, rankOf })) return undefined;
    const going = new Set<string>();
    const excess = {
      count: holdings.size + countOf(wanted) - perOwner,
      characters: characters + wanted.characters - charactersPerOwner,
    };
    if (take(spareOf(holdings, excess, rankOf), { wanted, excess, going })) return going;
    // One that is too large for its owner's share alone is none the less kept.
    const isAlone = holdings.size - going.size + countOf(wanted) === 1 && excess.count <= 0;
    return isAlone || this.#isLenient(wanted) ? going : undefined;
  }

  /** Anybody's holdings, in the order in which they go. */
  *#spareOfAll(excess: Excess, rankOf: RankOf): Iterable<Holding> {
    if (!this.#bounds.takesFromLargest) {
      yield* spareOf(this.#holdings, excess, rankOf);
      return;
    }
    const shares = excess.count > 0 ? this.#byCount : this.#byCharacters;
    for (const { holdings } of shares) yield* spareOf(holdings, excess, rankOf);
  }

  /** An item that never goes finds no room beside so many that never go either. */
  #isFull(
    holdings: ReadonlyMap<string, Holding>,
    most: number,
    { wanted, rankOf }: { readonly wanted: Wanted; readonly rankOf: RankOf },
  ): boolean {
    if (wanted.rank !== undefined || holdings.size < most) return false;
    if (this.#isLenient(wanted)) return false;
    let count = 0;
    for (const key of holdings.keys()) if (rankOf(key) === undefined) count += 1;
    return count >= most;
  }

  /** An item that is there may grow in any case. */
  #isLenient({ growing }: Wanted): boolean {
    return this.#bounds.refusesNothing || growing !== undefined;
  }

  #sizeOf(key: string): number {
    return this.#holdings.get(key)?.characters ?? 0;
  }

  get #bounds(): Bounds {
    return this.#quota();
  }
}

/** Lets holdings go until nothing is too much; answers that it is so. */
function take(
  spare: Iterable<Holding>,
  { wanted, excess, going }: { wanted: Wanted; excess: Excess; going: Set<string> },
): boolean {
  const isDone = (): boolean => excess.count <= 0 && excess.characters <= 0;
  if (isDone()) return true;
  for (const { key, characters } of spare) {
    if (key === wanted.growing || going.has(key)) continue;
    going.add(key);
    excess.count -= 1;
    excess.characters -= characters;
    if (isDone()) return true;
  }
  return false;
}

/** Holdings whose going helps: the lowest rank first, then the oldest. */
function* spareOf(
  holdings: ReadonlyMap<string, Holding>,
  excess: Excess,
  rankOf: RankOf,
): Iterable<Holding> {
  let lowest: Holding | undefined;
  let lowestRank = Number.POSITIVE_INFINITY;
  const passed = new Set<Holding>();
  for (const holding of holdings.values()) {
    if (holding.characters === 0 && excess.count <= 0) continue;
    const rank = rankOf(holding.key);
    // Nothing goes before it: mostly the first that is looked at is all that is wanted.
    if (rank === 0) {
      passed.add(holding);
      yield holding;
    } else if (rank !== undefined && (lowest === undefined || rank < lowestRank)) {
      lowest = holding;
      lowestRank = rank;
    }
  }
  if (lowest === undefined) return;
  // Mostly one is all that is wanted, and nothing has to be sorted for it.
  passed.add(lowest);
  yield lowest;
  const others: Ranked[] = [];
  for (const holding of holdings.values()) {
    const rank = passed.has(holding) ? undefined : rankOf(holding.key);
    if (rank !== undefined) others.push({ holding, rank });
  }
  others.sort((left, right) => left.rank - right.rank);
  for (const { holding } of others) yield holding;
}

function countOf({ growing }: Wanted): number {
  return growing === undefined ? 1 : 0;
}
