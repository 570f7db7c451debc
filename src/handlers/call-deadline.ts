/**
 * The time one upstream call may take, and one signal for both ends of it: the time is over, or the
 * caller's own signal aborts.   AGTP-API §12.3 "timeout_seconds"
 */

/** Starts counting when it is made; `clear()` it, whatever the call came to. */
export class CallDeadline {
  readonly #controller = new AbortController();
  readonly #caller: AbortSignal;
  readonly #timer: NodeJS.Timeout;
  readonly #abort = (): void => this.#controller.abort();

  constructor(caller: AbortSignal, timeoutMs: number) {
    this.#caller = caller;
    this.#timer = setTimeout(this.#abort, timeoutMs);
    if (caller.aborted) this.#abort();
    else caller.addEventListener("abort", this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#caller.removeEventListener("abort", this.#abort);
  }
}
