/**
 * Throttles the reports of a changing count: soon while it is small, when each change matters more, and otherwise at
 * most ten times a second, since a message costs both processes about as much as part of a handshake.
 */

const SMALL = 4;
const SOON_MS = 5;
const LATER_MS = 100;

export class ToldCount {
  readonly #tell: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isSoon = false;

  /** `tell` reports the count as it is when called. */
  constructor(tell: () => void) {
    this.#tell = tell;
  }

  /** Schedules a report of the new count. */
  changed(count: number): void {
    const isSoon = count <= SMALL;
    if (this.#timer !== undefined) {
      if (this.#isSoon || !isSoon) return;
      clearTimeout(this.#timer);
    }
    this.#isSoon = isSoon;
    this.#timer = setTimeout(
      () => {
        this.#timer = undefined;
        this.#tell();
      },
      isSoon ? SOON_MS : LATER_MS,
    );
  }

  close(): void {
    clearTimeout(this.#timer);
  }
}
