/**
 * Syncs what was written within a second, beside serving: the disk's own pace is nobody's wait. What
 * is marked while a sync runs is for the next one.
 */

/** Half of what is promised, since a sync takes its time as well. */
const WITHIN_MS = 500;

export class JournalSync {
  readonly #work: () => Promise<void>;
  #isDue = false;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  /** `work` syncs what was written before it is called; it reports its failures itself. */
  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  /** Schedules a sync of the last write. Called with every write. */
  mark(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#timer = setTimeout(() => void this.flush(), WITHIN_MS);
    // A process that may end closes its journal first.
    this.#timer.unref();
  }

  /** Syncs what is marked, and resolves once that is done. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#running = this.#running
      .then(() => {
        if (!this.#isDue) return undefined;
        this.#isDue = false;
        return this.#work();
      })
      // It has reported what it could not do.
      .catch(() => undefined);
    return this.#running;
  }
}
