/**
 * How much each owner keeps in a collection, and what has to go for more of it. What still waits for
 * somebody never goes: an owner that has too much of that is told so, and nobody else loses anything.
 */

/** Bounds of a collection; what is left out is not bounded. */
export interface Quota {
  /** Of one owner: everything, its JSON in characters, and what never goes. */
  readonly perOwner?: number;
  readonly charactersPerOwner?: number;
  readonly openPerOwner?: number;
  /** Of all together. */
  readonly all?: number;
  readonly open?: number;
  /** At the bound of all, others lose nothing for somebody who wants more. */
  readonly sparesOthers?: boolean;
}

/** How easily an item can be done without, 0 first; undefined for one that never goes. */
export type Rank = number | undefined;

/** One more item. */
export interface Wanted {
  readonly owner: string;
  readonly characters: number;
  readonly rank: Rank;
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
}

interface Ranked extends Holding {
  readonly rank: number;
}

/** The keys of a collection by their owners. */
export class Holdings {
  readonly #quota: Quota;
  /** The oldest first, as in each owner's set. */
  readonly #holdings = new Map<string, Holding>();
  readonly #byOwner = new Map<string, Share>();

  constructor(quota: Quota = {}) {
    this.#quota = quota;
  }

  /** An owner's keys, the oldest first. */
  keysOf(owner: string): Iterable<string> {
    return this.#byOwner.get(owner)?.holdings.keys() ?? [];
  }

  /** Takes a key in, or its size anew; a key keeps its place. */
  set(key: string, owner: string, characters: number): void {
    const before = this.#holdings.get(key);
    if (before !== undefined && before.owner !== owner) this.delete(key);
    const share = this.#byOwner.get(owner) ?? { holdings: new Map(), characters: 0 };
    this.#byOwner.set(owner, share);
    share.characters += characters - (share.holdings.get(key)?.characters ?? 0);
    const holding = { key, owner, characters };
    share.holdings.set(key, holding);
    this.#holdings.set(key, holding);
  }

  delete(key: string): void {
    const holding = this.#holdings.get(key);
    if (holding === undefined) return;
    const { owner, characters } = holding;
    this.#holdings.delete(key);
    const share = this.#byOwner.get(owner);
    if (share === undefined) return;
    share.holdings.delete(key);
    share.characters -= characters;
    if (share.holdings.size === 0) this.#byOwner.delete(owner);
  }

  /** The keys that go for one more item; undefined: there is no room for it. */
  surplus(wanted: Wanted, rankOf: (key: string) => Rank): readonly string[] | undefined {
    const own = this.#ownSurplus(wanted, rankOf);
    const { all = Number.POSITIVE_INFINITY, open = all, sparesOthers = false } = this.#quota;
    if (own === undefined || this.#holdings.size - own.size < Math.min(all, open)) {
      return own && [...own];
    }
    const left = [...this.#holdings.values()].filter(({ key }) => !own.has(key));
    const spare = spareOf(left, rankOf);
    if (wanted.rank === undefined && left.length - spare.length >= open) return undefined;
    const count = left.length + 1 - all;
    if (count <= 0) return [...own];
    if (sparesOthers || count > spare.length) return undefined;
    return [...own, ...spare.slice(0, count).map(({ key }) => key)];
  }

  #ownSurplus(
    { owner, characters, rank }: Wanted,
    rankOf: (key: string) => Rank,
  ): ReadonlySet<string> | undefined {
    const { perOwner, charactersPerOwner, openPerOwner } = withoutBounds(this.#quota);
    const share = this.#byOwner.get(owner);
    let count = share?.holdings.size ?? 0;
    let size = (share?.characters ?? 0) + characters;
    const hasRoom = count < perOwner && size <= charactersPerOwner;
    if (hasRoom && (count < openPerOwner || rank !== undefined)) return new Set();
    const spare = spareOf([...(share?.holdings.values() ?? [])], rankOf);
    if (rank === undefined && count - spare.length >= openPerOwner) return undefined;
    const surplus = new Set<string>();
    for (const holding of spare) {
      if (count < perOwner && size <= charactersPerOwner) break;
      surplus.add(holding.key);
      size -= holding.characters;
      count -= 1;
    }
    // One that is too large for its owner's share alone is none the less kept.
    const isFull = count >= perOwner || (count > 0 && size > charactersPerOwner);
    return isFull ? undefined : surplus;
  }
}

function withoutBounds(
  quota: Quota,
): Required<Pick<Quota, "perOwner" | "charactersPerOwner" | "openPerOwner">> {
  const unbounded = Number.POSITIVE_INFINITY;
  const { perOwner = unbounded, charactersPerOwner = unbounded, openPerOwner = unbounded } = quota;
  return { perOwner, charactersPerOwner, openPerOwner };
}

/** Of some holdings those that can be done without: the lowest rank first, then the oldest. */
function spareOf(holdings: readonly Holding[], rankOf: (key: string) => Rank): readonly Ranked[] {
  return holdings
    .flatMap((holding) => {
      const rank = rankOf(holding.key);
      return rank === undefined ? [] : [{ ...holding, rank }];
    })
    .sort((left, right) => left.rank - right.rank);
}
