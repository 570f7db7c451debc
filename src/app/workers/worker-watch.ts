/**
 * Detects a worker that stops answering, such as one that is suspended or in an endless loop:
 * pending questions to it then fail soon, and after half a minute it is due for replacement. Time
 * is counted in looks, so that a suspended host ends no worker.
 */
import type { Link } from "../../base/link.ts";

interface WorkerWatchOptions {
  /** Called after a few unanswered looks. */
  onSilent(): void;
  /** Called after half a minute without an answer. */
  onHung(): void;
  readonly everyMs?: number;
}

const EVERY_MS = 1_000;
const SILENT_LOOKS = 3;
const HUNG_LOOKS = 30;

export class WorkerWatch {
  readonly #link: Link;
  readonly #options: WorkerWatchOptions;
  #timer: NodeJS.Timeout | undefined;
  readonly #waiting = new Set<(error: Error) => void>();
  #isAsked = false;
  #unanswered = 0;

  constructor(link: Link, options: WorkerWatchOptions) {
    this.#link = link;
    this.#options = options;
  }

  /** Starts to look; a starting worker may load for long. */
  start(): void {
    this.#timer = setInterval(() => this.#look(), this.#options.everyMs ?? EVERY_MS);
    this.#timer.unref();
  }

  /** Asks the worker; rejects with its error, when it is gone, or once it is silent. */
  ask<Answer>(name: string, body?: unknown): Promise<Answer> {
    const asked = this.#link.ask<Answer>(name, body);
    return new Promise((resolve, reject) => {
      if (this.#isSilent) reject(silent());
      this.#waiting.add(reject);
      asked.then(resolve, reject).finally(() => this.#waiting.delete(reject));
    });
  }

  close(): void {
    clearInterval(this.#timer);
  }

  get #isSilent(): boolean {
    return this.#unanswered >= SILENT_LOOKS;
  }

  #look(): void {
    if (!this.#isAsked) {
      this.#isAsked = true;
      // A worker that is gone is reported by its exit.
      this.#link.ask("alive").then(
        () => this.#answered(),
        () => this.close(),
      );
      return;
    }
    this.#unanswered += 1;
    if (this.#unanswered === SILENT_LOOKS) {
      for (const reject of this.#waiting) reject(silent());
      this.#options.onSilent();
    }
    if (this.#unanswered === HUNG_LOOKS) this.#options.onHung();
  }

  #answered(): void {
    this.#isAsked = false;
    this.#unanswered = 0;
  }
}

function silent(): Error {
  return new Error("the worker does not answer");
}
