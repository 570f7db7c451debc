/**
 * How many contracts each agent has, and of what size: an agent that negotiates without end makes
 * room with its own contracts, never with another's.   AGTP-API §10.1.4
 */

/** What one agent may have. */
const PER_AGENT = 1_000;
const CHARACTERS_PER_AGENT: number = 16 * 1024 * 1024;

interface Holding {
  /** Length of the JSON by id, the oldest first. */
  readonly sizes: Map<string, number>;
  characters: number;
}

export class ContractHoldings {
  readonly #byAgent = new Map<string, Holding>();

  /** The contracts of an agent, the oldest first. */
  idsOf(agentId: string): Iterable<string> {
    return this.#byAgent.get(agentId)?.sizes.keys() ?? [];
  }

  add(agentId: string, id: string, size: number): void {
    const holding = this.#byAgent.get(agentId) ?? { sizes: new Map(), characters: 0 };
    this.#byAgent.set(agentId, holding);
    holding.sizes.set(id, size);
    holding.characters += size;
  }

  delete(agentId: string, id: string): void {
    const holding = this.#byAgent.get(agentId);
    if (holding === undefined) return;
    holding.characters -= holding.sizes.get(id) ?? 0;
    holding.sizes.delete(id);
    if (holding.sizes.size === 0) this.#byAgent.delete(agentId);
  }

  /** Which contracts make room for one more of a size: the lowest rank first, then the oldest. */
  surplus(agentId: string, size: number, rankOf: (id: string) => number): readonly string[] {
    const holding = this.#byAgent.get(agentId);
    if (holding === undefined) return [];
    let { characters } = holding;
    let count = holding.sizes.size;
    const isFull = (): boolean => count >= PER_AGENT || characters + size > CHARACTERS_PER_AGENT;
    if (!isFull()) return [];
    const ranked = [...holding.sizes].map(([id, own]) => ({ id, own, rank: rankOf(id) }));
    const surplus: string[] = [];
    for (const { id, own } of ranked.sort((left, right) => left.rank - right.rank)) {
      if (!isFull()) break;
      surplus.push(id);
      characters -= own;
      count -= 1;
    }
    return surplus;
  }
}
