/**
 * Look-ups that missed and wait until their process has taken in what was committed by then. One
 * question to the store answers all who ask meanwhile, and there are not more than so many a second. A
 * look that the store cannot answer in time is a fault: what was missed may well be there.
 */
import { setTimeout as pause } from "node:timers/promises";
import { StoreUnavailableError } from "./store-fault.ts";

/** How long a look waits for what was just committed. */
const CATCH_UP_MS = 500;
const CATCH_UP_PAUSE_MS = 20;

/** Settles a look; with a fault, it is not known what was committed. */
type Settle = (fault?: unknown) => void;

export class LateLooks {
  readonly #wakeUp: () => void;
  /** The looks that wait for the next news of what has changed. */
  readonly #looking = new Set<Settle>();
  /** The look for all that was committed that is under way, and the one behind it. */
  #catching: Promise<unknown> = Promise.resolve();
  #awaited: Promise<void> | undefined;

  /** `wakeUp` has what has changed asked for at once. */
  constructor(wakeUp: () => void) {
    this.#wakeUp = wakeUp;
  }

  /** @throws StoreUnavailableError where it is not known what was committed */
  catchUp(): Promise<void> {
    this.#awaited ??= this.#catching.then(() => {
      this.#awaited = undefined;
      const catching = this.#catchUp();
      this.#catching = Promise.all([
        catching.catch(() => undefined),
        pause(CATCH_UP_PAUSE_MS, undefined, { ref: false }),
      ]);
      return catching;
    });
    return this.#awaited;
  }

  /** Called before the store is asked; what it answers is called once everything is taken in. */
  begin(): () => void {
    const looking = [...this.#looking];
    return () => {
      for (const settle of looking) settle();
    };
  }

  /** The store could not be asked, or not all of its answer was taken in. */
  fail(fault: unknown): void {
    for (const settle of [...this.#looking]) settle(fault);
  }

  async #catchUp(): Promise<void> {
    let settle: Settle = () => undefined;
    let timer: NodeJS.Timeout | undefined;
    const seen = new Promise<void>((resolve, reject) => {
      settle = (fault) => (fault === undefined ? resolve() : reject(fault));
      timer = setTimeout(() => reject(overdue()), CATCH_UP_MS).unref();
    });
    this.#looking.add(settle);
    this.#wakeUp();
    try {
      await seen;
    } finally {
      clearTimeout(timer);
      this.#looking.delete(settle);
    }
  }
}

function overdue(): StoreUnavailableError {
  const cause = new Error("it did not say in time what was committed");
  return new StoreUnavailableError("unreachable", cause);
}
