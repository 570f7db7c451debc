/**
 * Turns at chains that several workers append to: while one seals behind the head, another that does the same seals in
 * vain. A hint and no lock: heads are compared all the same, and a turn is over with the next batch of its worker, or
 * soon after it began, whatever has become of that.
 */

/** Longer than a batch takes to be sealed, unless its worker stands still. */
const TURN_MS = 50;

interface Turn<Worker> {
  worker: Worker;
  /** Those whose turn comes next, in order. */
  readonly waiting: { readonly worker: Worker; begin(): void }[];
  readonly timer: NodeJS.Timeout;
}

export class ChainTurns<Worker> {
  readonly #turns = new Map<string, Turn<Worker>>();

  /** True while nobody has a turn. */
  get isEmpty(): boolean {
    return this.#turns.size === 0;
  }

  /** Resolves once it is the worker's turn; a worker asks once at a time. */
  begin(agentId: string, worker: Worker): Promise<void> {
    const turn = this.#turns.get(agentId);
    if (turn !== undefined) {
      return new Promise((begin) => turn.waiting.push({ worker, begin }));
    }
    const timer = setTimeout(() => this.#next(agentId), TURN_MS);
    this.#turns.set(agentId, { worker, waiting: [], timer });
    return Promise.resolve();
  }

  /** The batch of a worker is decided: its turns at these chains are over. */
  end(agentIds: readonly string[], worker: Worker): void {
    for (const agentId of agentIds) {
      if (this.#turns.get(agentId)?.worker === worker) this.#next(agentId);
    }
  }

  #next(agentId: string): void {
    const turn = this.#turns.get(agentId);
    if (turn === undefined) return;
    const next = turn.waiting.shift();
    if (next === undefined) {
      clearTimeout(turn.timer);
      this.#turns.delete(agentId);
      return;
    }
    turn.worker = next.worker;
    turn.timer.refresh();
    next.begin();
  }
}
