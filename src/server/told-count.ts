/**
 * Tells of a number that changes often: soon while it is small, as then each one more matters, and else
 * ten times a second at most, since a message costs both processes as much as a part of a handshake.
 */

const SMALL = 4;
const SOON_MS = 5;
const LATER_MS = 100;

export class ToldCount {
  readonly #tell: () => void;
  #timer: NodeJS.Timeout | undefined;
  #isSoon = false;

  /** `tell` tells how it is when it is called. */
  constructor(tell: () => void) {
    this.#tell = tell;
  }

  /** It is another number now. */
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
