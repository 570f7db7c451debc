/**
 * Lookups that missed, and wait until this process has read everything committed so far. One query answers every
 * waiting lookup, at a limited rate. If the store does not answer in time, the lookup fails, since the missed entry
 * may exist.
 */
import { setTimeout as pause } from "node:timers/promises";
import { StoreUnavailableError } from "./store-fault.ts";

/** How long a lookup waits for recent commits. */
const CATCH_UP_MS = 500;
const CATCH_UP_PAUSE_MS = 20;

/** Settles a lookup; a fault means that it is unknown if something was committed. */
type Settle = (fault?: unknown) => void;

export class LateLooks {
  readonly #wakeUp: () => void;
  /** Lookups that wait for the next feed. */
  readonly #looking = new Set<Settle>();
  /** The catch-up in progress, and the one queued behind it. */
  #catching: Promise<unknown> = Promise.resolve();
  #awaited: Promise<void> | undefined;

  /** `wakeUp` triggers a query of the feed at once. */
  constructor(wakeUp: () => void) {
    this.#wakeUp = wakeUp;
  }

  /**
   * Resolves once everything committed so far is read.
   * @throws StoreUnavailableError if that cannot be known
   */
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

  /** Called before the store is queried; the returned function is called once the feed is applied. */
  begin(): () => void {
    const looking = [...this.#looking];
    return () => {
      for (const settle of looking) settle();
    };
  }

  /** Fails the waiting lookups: the store could not be queried, or its answer not fully applied. */
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
