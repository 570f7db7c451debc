/**
 * How much one process may have in the log: whoever writes more of it a second loses what is beyond, and the log is
 * told once a second how much that was. It would cost everybody else the loop and the disk.
 */

/** So much of a second's lines is logged. */
export const LOGGED_OCTETS_PER_SECOND: number = 1_048_576;
const WINDOW_MS = 1_000;
/** The octets of a line beside its text: its time, its level and its process. */
const LINE_OCTETS = 128;

/** The lines and octets that were dropped within a second. */
interface DroppedLines {
  readonly lines: number;
  readonly octets: number;
}

/** Of one process. */
export class LogAllowance {
  readonly #onDropped: (dropped: DroppedLines) => void;
  #since = 0;
  #octets = 0;
  #dropped: DroppedLines = { lines: 0, octets: 0 };

  /** `onDropped` hears once of each second in which something was. */
  constructor(onDropped: (dropped: DroppedLines) => void) {
    this.#onDropped = onDropped;
  }

  /** False: a line with a text of so many octets is dropped. */
  admits(octets: number): boolean {
    const now = performance.now();
    if (now - this.#since >= WINDOW_MS) {
      this.#since = now;
      this.#octets = 0;
    }
    this.#octets += octets + LINE_OCTETS;
    if (this.#octets <= LOGGED_OCTETS_PER_SECOND) return true;
    this.#drop(octets);
    return false;
  }

  #drop(octets: number): void {
    const { lines } = this.#dropped;
    if (lines === 0) setTimeout(() => this.#tell(), WINDOW_MS).unref();
    this.#dropped = { lines: lines + 1, octets: this.#dropped.octets + octets };
  }

  #tell(): void {
    const dropped = this.#dropped;
    this.#dropped = { lines: 0, octets: 0 };
    this.#onDropped(dropped);
  }
}
