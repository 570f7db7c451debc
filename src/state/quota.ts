/**
 * Counts each owner's share of a collection, and selects the items to evict for new ones. An item that somebody
 * still waits for is never evicted: an owner with too many of those is refused, and nobody else loses anything.
 */
import { LargestFirst } from "./largest-first.ts";

/** The bounds of a collection; an omitted one is unlimited. */
export interface Quota {
  /** Bounds per owner: items, their total size (characters of JSON by default), and items that are never evicted. */
  readonly perOwner?: number;
  readonly charactersPerOwner?: number;
  readonly openPerOwner?: number;
  /** Bounds over all owners together. */
  readonly all?: number;
  readonly open?: number;
  readonly characters?: number;
  /** True if the overall bound refuses rather than evicts other owners' items. */
  readonly sparesOthers?: boolean;
  /** True if the overall bound evicts from the largest owner, instead of the oldest item. */
  readonly takesFromLargest?: boolean;
  /** True if nothing is refused, so that items never evicted may exceed every bound. */
  readonly refusesNothing?: boolean;
}

/** The eviction rank of an item, 0 first; undefined: never evicted. */
export type Rank = number | undefined;

/** A new item, or the growth of an existing one. */
export interface Wanted {
  readonly owner: string;
  readonly characters: number;
  readonly rank: Rank;
  /** The key of the growing item, which is not counted twice and not evicted for itself. */
  readonly growing?: string;
}

interface Holding {
  readonly key: string;
  readonly owner: string;
  readonly characters: number;
}

/** The holdings of one owner. */
interface Share {
  readonly holdings: Map<string, Holding>;
  characters: number;
  /** Counts shares in order of creation, for ties. */
  readonly number: number;
}

interface Ranked {
  readonly holding: Holding;
  readonly rank: number;
}

type RankOf = (key: string) => Rank;

/** The items and characters above a bound. */
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

/** Sorts the share with the most items first, the oldest among equals. */
function byCount(one: Share, other: Share): number {
  return other.holdings.size - one.holdings.size || one.number - other.number;
}

function byCharacters(one: Share, other: Share): number {
  return other.characters - one.characters || one.number - other.number;
}

/** The keys of a collection, by owner. */
export class Holdings {
  readonly #quota: () => Bounds;
  /** Oldest first, as in each share. */
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

  /** Returns an owner's keys, oldest first. */
  keysOf(owner: string): Iterable<string> {
    return this.#byOwner.get(owner)?.holdings.keys() ?? [];
  }

  /** True if an owner has a key. */
  has(owner: string): boolean {
    return this.#byOwner.has(owner);
  }

  /** True if a bound per owner may refuse items that are never evicted. */
  get refusesOwners(): boolean {
    const { openPerOwner, refusesNothing } = this.#bounds;
    return openPerOwner < Number.POSITIVE_INFINITY && !refusesNothing;
  }

  /** Adds a key or updates its size; an existing key keeps its position. */
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

  /** Returns the keys to evict for what is wanted; undefined if there is no room. */
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

  /** Selects from the owner's own share first. */
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
    // A single item that exceeds its owner's share is still kept.
    const isAlone = holdings.size - going.size + countOf(wanted) === 1 && excess.count <= 0;
    return isAlone || this.#isLenient(wanted) ? going : undefined;
  }

  /** Iterates over the holdings of every owner in eviction order. */
  *#spareOfAll(excess: Excess, rankOf: RankOf): Iterable<Holding> {
    if (!this.#bounds.takesFromLargest) {
      yield* spareOf(this.#holdings, excess, rankOf);
      return;
    }
    const shares = excess.count > 0 ? this.#byCount : this.#byCharacters;
    for (const { holdings } of shares) yield* spareOf(holdings, excess, rankOf);
  }

  /** True if an item that is never evicted exceeds the bound on such items. */
  #isFull(
    holdings: ReadonlyMap<string, Holding>,
    most: number,
    { wanted, rankOf }: { readonly wanted: Wanted; readonly rankOf: RankOf },
  ): boolean {
    if (wanted.rank !== undefined || holdings.size < most) return false;
    if (this.#isLenient(wanted)) return false;
    // Among very many holdings, usually the first ones can be evicted, so the loop ends early.
    let spare = holdings.size - most;
    for (const key of holdings.keys()) {
      if (rankOf(key) !== undefined) spare -= 1;
      if (spare < 0) return false;
    }
    return true;
  }

  /** An existing item may always grow. */
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

/** Selects holdings until nothing exceeds the bounds; returns true if that succeeds. */
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

/** Iterates over the holdings that reduce the excess: lowest rank first, then oldest. */
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
    // Rank 0 goes before all others, and the first one found usually suffices.
    if (rank === 0) {
      passed.add(holding);
      yield holding;
    } else if (rank !== undefined && (lowest === undefined || rank < lowestRank)) {
      lowest = holding;
      lowestRank = rank;
    }
  }
  if (lowest === undefined) return;
  // One more usually suffices, so sorting is deferred.
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
