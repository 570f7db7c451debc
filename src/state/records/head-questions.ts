/**
 * Questions where chains end, to a store that other processes write to, too: one is under way at a time,
 * and all who ask meanwhile share the next.
 */
import type { ChainHead } from "./record-store.ts";

type Heads = ReadonlyMap<string, ChainHead>;

interface Question {
  readonly agentIds: Set<string>;
  readonly answer: Promise<Heads>;
}

export class HeadQuestions {
  readonly #headsOf: (agentIds: readonly string[]) => Promise<Heads>;
  #asking: Promise<unknown> = Promise.resolve();
  #next: Question | undefined;

  constructor(headsOf: (agentIds: readonly string[]) => Promise<Heads>) {
    this.#headsOf = headsOf;
  }

  /** The end of a chain as it is after this call; undefined where there is none. */
  async ask(agentId: string): Promise<ChainHead | undefined> {
    this.#next ??= this.#open();
    const { agentIds, answer } = this.#next;
    agentIds.add(agentId);
    return (await answer).get(agentId);
  }

  #open(): Question {
    const agentIds = new Set<string>();
    const answer = this.#asking.then(() => {
      this.#next = undefined;
      return this.#headsOf([...agentIds]);
    });
    this.#asking = answer.catch(() => undefined);
    return { agentIds, answer };
  }
}
