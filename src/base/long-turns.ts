/**
 * Work that takes some hundredths of a second at once, such as a long body: one piece of it is begun in a turn of the
 * loop, however many have come at once, so that everybody else has their turn in between.
 */
import { LONG_OCTETS } from "./json-bounds.ts";

/** Lets one piece of long work begin in a turn of the loop; the others wait in their order. */
export class LongTurns {
  readonly #waiting: (() => void)[] = [];
  #isTaken = false;

  /** True: it may begin now, and is the one of this turn. */
  begin(): boolean {
    if (this.#isTaken) return false;
    this.#isTaken = true;
    setImmediate(() => this.#next());
    return true;
  }

  /** Begins at once, or when its turn comes. What it throws then is a fault of the process. */
  take(work: () => void): void {
    if (this.begin()) work();
    else this.#waiting.push(work);
  }

  /** Resolves at once, or when its turn comes. */
  turn(): Promise<void> {
    return new Promise((resolve) => this.take(resolve));
  }

  #next(): void {
    this.#isTaken = false;
    const work = this.#waiting.shift();
    if (work !== undefined) this.take(work);
  }
}

/** The turns of requests. */
export const LONG_TURNS: LongTurns = new LongTurns();

/** Does what is made of so many octets: at once where they are few, else when its turn comes. */
export function inLongTurn(octets: number, work: () => void): void {
  if (octets > LONG_OCTETS) LONG_TURNS.take(work);
  else work();
}
