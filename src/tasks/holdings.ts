/**
 * How much each agent keeps here, and what has to go for more of it. What is still waited for never
 * goes: an agent that has too much of that is told so, and nobody else loses anything.
 */

/** How much is kept. */
export interface HoldingLimits {
  /** Of one agent: what is waited for, and everything. */
  readonly openPerAgent: number;
  readonly perAgent: number;
  /** Of all together. */
  readonly open: number;
  readonly all: number;
}

/** How easily one can be done without, 0 first; undefined for one that is waited for. */
export type Rank = (id: string) => number | undefined;

export class Holdings {
  readonly #limits: HoldingLimits;
  /** The oldest first. */
  readonly #agents = new Map<string, string>();
  readonly #byAgent = new Map<string, Set<string>>();

  constructor(limits: HoldingLimits) {
    this.#limits = limits;
  }

  add(agentId: string, id: string): void {
    this.#agents.set(id, agentId);
    const own = this.#byAgent.get(agentId) ?? new Set();
    this.#byAgent.set(agentId, own.add(id));
  }

  delete(id: string): void {
    const agentId = this.#agents.get(id);
    if (agentId === undefined) return;
    this.#agents.delete(id);
    const own = this.#byAgent.get(agentId);
    own?.delete(id);
    if (own?.size === 0) this.#byAgent.delete(agentId);
  }

  /** What goes for one more of this agent; undefined: there is no room for one, or none that is open. */
  surplus(agentId: string, rankOf: Rank, isOpen = true): readonly string[] | undefined {
    const { openPerAgent, perAgent, open, all } = this.#limits;
    const ids = this.#byAgent.get(agentId) ?? [];
    const ownOpen = isOpen ? openPerAgent : Number.POSITIVE_INFINITY;
    const own = surplusOf(ids, rankOf, { open: ownOpen, all: perAgent });
    if (own === undefined || this.#agents.size < Math.min(open, all)) return own;
    const left = [...this.#agents.keys()].filter((id) => !own.includes(id));
    const allOpen = isOpen ? open : Number.POSITIVE_INFINITY;
    const others = surplusOf(left, rankOf, { open: allOpen, all });
    return others && [...own, ...others];
  }
}

function surplusOf(
  ids: Iterable<string>,
  rankOf: Rank,
  { open, all }: Pick<HoldingLimits, "open" | "all">,
): readonly string[] | undefined {
  const ranked = [...ids].map((id) => ({ id, rank: rankOf(id) }));
  const closed = ranked.flatMap(({ id, rank }) => (rank === undefined ? [] : [{ id, rank }]));
  if (ranked.length - closed.length >= open) return undefined;
  const count = Math.max(0, ranked.length + 1 - all);
  if (count > closed.length) return undefined;
  const sorted = closed.sort((left, right) => left.rank - right.rank);
  return sorted.slice(0, count).map(({ id }) => id);
}
