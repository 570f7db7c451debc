/** Where the chains of a process end, and which of them it has moved. */
import type { ChainHead } from "./record-store.ts";

export class ChainHeads {
  readonly #heads: Map<string, ChainHead>;
  /** Chains that this process has moved since `takeChanged`. */
  #changed = new Set<string>();

  constructor(heads: ReadonlyMap<string, ChainHead>) {
    this.#heads = new Map(heads);
  }

  /** Where all chains end. */
  get all(): ReadonlyMap<string, ChainHead> {
    return this.#heads;
  }

  /** The last record of a chain that this process knows of. */
  get(agentId: string): ChainHead | undefined {
    return this.#heads.get(agentId);
  }

  /** Takes in a record that this process has written. */
  move(agentId: string, head: ChainHead): void {
    this.#heads.set(agentId, head);
    this.#changed.add(agentId);
  }

  /** Takes in where another process has left a chain; undefined: nothing of it is kept. */
  learn(agentId: string, head: ChainHead | undefined): void {
    if (head === undefined) this.#heads.delete(agentId);
    else this.#heads.set(agentId, head);
  }

  /** The heads that were moved, or marked, since the last call. */
  takeChanged(): ReadonlyMap<string, ChainHead> {
    const changed = new Map<string, ChainHead>();
    for (const agentId of this.#changed) {
      const head = this.#heads.get(agentId);
      if (head !== undefined) changed.set(agentId, head);
    }
    this.#changed = new Set();
    return changed;
  }

  /** Marks chains that the store does not know as they are. */
  mark(agentIds: Iterable<string>): void {
    for (const agentId of agentIds) this.#changed.add(agentId);
  }
}
