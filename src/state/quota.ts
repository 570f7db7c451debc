/**
 * How much each owner keeps in a collection, and what has to go for more of it. What still waits for
 * somebody never goes: an owner that has too much of that is told so, and nobody else loses anything.
 */

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
  readonly #bounds: Quota | (() => Quota);
  /** The oldest first, as in each owner's set. */
  readonly #holdings = new Map<string, Holding>();
  readonly #byOwner = new Map<string, Share>();
  #characters = 0;

  constructor(bounds: Quota | (() => Quota) = {}) {
    this.#bounds = bounds;
  }

  get #quota(): Quota {
    return typeof this.#bounds === "function" ? this.#bounds() : this.#bounds;
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
    const growth = characters - (share.holdings.get(key)?.characters ?? 0);
    share.characters += growth;
    this.#characters += growth;
    const holding = { key, owner, characters };
    share.holdings.set(key, holding);
    this.#holdings.set(key, holding);
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
  }

  /** The keys that go for one more item; undefined: there is no room for it. */
  surplus(wanted: Wanted, rankOf: (key: string) => Rank): readonly string[] | undefined {
    const own = this.#ownSurplus(wanted, rankOf);
    const { all = Number.POSITIVE_INFINITY, open = all, sparesOthers = false } = this.#quota;
    const { characters = Number.POSITIVE_INFINITY } = this.#quota;
    if (own === undefined) return undefined;
    const size = this.#characters + wanted.characters;
    const hasRoom = this.#holdings.size - own.size < Math.min(all, open) && size <= characters;
    if (hasRoom) return [...own];
    const left = [...this.#holdings.values()].filter(({ key }) => !own.has(key));
    const spare = spareOf(left, rankOf);
    if (wanted.rank === undefined && left.length - spare.length >= open) return undefined;
    let count = left.length + 1 - all;
    let excess = sumOf(left) + wanted.characters - characters;
    const surplus = [...own];
    for (const holding of sparesOthers ? [] : spare) {
      if (count <= 0 && excess <= 0) break;
      surplus.push(holding.key);
      count -= 1;
      excess -= holding.characters;
    }
    return count <= 0 && excess <= 0 ? surplus : undefined;
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

function sumOf(holdings: readonly Holding[]): number {
  return holdings.reduce((sum, { characters }) => sum + characters, 0);
}
