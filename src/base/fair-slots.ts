/** Waits for one of few places, shared by caller; who does not want it any more waits no longer. */
import { FairShares } from "./fair-shares.ts";

interface Waiting {
  take(release: () => void): void;
}

export class FairSlots {
  readonly #shares: FairShares;
  /** Of each owner, in the order in which they came. */
  readonly #waiting = new Map<string, Set<Waiting>>();

  constructor(all: number) {
    this.#shares = new FairShares(all);
  }

  /** Resolves with what gives the place back; rejects when the signal says that nobody waits. */
  take(owner: string, signal: AbortSignal): Promise<() => void> {
    return new Promise((resolve, reject) => {
      if (signal.aborted) return reject(signal.reason);
      const own = this.#waiting.get(owner) ?? new Set();
      this.#waiting.set(owner, own);
      const giveUp = (): void => {
        this.#remove(owner, waiting);
        reject(signal.reason);
      };
      const waiting: Waiting = {
        take: (release) => {
          signal.removeEventListener("abort", giveUp);
          resolve(release);
        },
      };
      own.add(waiting);
      signal.addEventListener("abort", giveUp, { once: true });
      this.#serve();
    });
  }

  #serve(): void {
    const owners = this.#waiting.keys();
    for (let owner = this.#shares.next(owners); owner !== undefined; ) {
      const [first] = this.#waiting.get(owner) ?? [];
      if (first === undefined) return;
      this.#remove(owner, first);
      const release = this.#shares.take(owner);
      first.take(() => {
        release();
        this.#serve();
      });
      owner = this.#shares.next(this.#waiting.keys());
    }
  }

  #remove(owner: string, waiting: Waiting): void {
    const own = this.#waiting.get(owner);
    own?.delete(waiting);
    if (own?.size === 0) this.#waiting.delete(owner);
  }
}
