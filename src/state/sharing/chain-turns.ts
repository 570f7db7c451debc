/**
 * Turns at chains to which several workers append: while one seals after the head, another that does so works in
 * vain. A hint rather than a lock: heads are still compared, and a turn ends with the worker's next batch, or soon
 * after it began in any case.
 */

/** Longer than sealing a batch takes, unless the worker stalls. */
const TURN_MS = 50;

interface Turn<Worker> {
  worker: Worker;
  /** The workers whose turns come next, in order. */
  readonly waiting: { readonly worker: Worker; begin(): void }[];
  readonly timer: NodeJS.Timeout;
}

export class ChainTurns<Worker> {
  readonly #turns = new Map<string, Turn<Worker>>();

  /** True while nobody has a turn. */
  get isEmpty(): boolean {
    return this.#turns.size === 0;
  }

  /** Resolves at the worker's turn; a worker has one request at a time. */
  begin(agentId: string, worker: Worker): Promise<void> {
    const turn = this.#turns.get(agentId);
    if (turn !== undefined) {
      return new Promise((begin) => turn.waiting.push({ worker, begin }));
    }
    const timer = setTimeout(() => this.#next(agentId), TURN_MS);
    this.#turns.set(agentId, { worker, waiting: [], timer });
    return Promise.resolve();
  }

  /** Ends a worker's turns at these chains, after its batch was decided. */
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
