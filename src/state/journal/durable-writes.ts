/**
 * Writes to the journal that a power cut cannot undo: each is synced before it counts. A sync that
 * failed is final for its file, which says nothing any more about what is on the disk; the records
 * are taken out of it and written once more, to the next segment. Where that fails as well, nothing
 * is written until a probe was synced.   AGTP-IDENTIFIERS "Audit Log"
 */
import type { JournalPosition, JournalRecord } from "./journal.ts";

/** The operations of a journal that make a write durable. */
export interface DurableParts {
  append(records: readonly JournalRecord[]): JournalPosition;
  /** Resolves once what was appended is on the disk. */
  sync(): Promise<void>;
  /** Called once the last records that were appended are synced. */
  kept(): void;
  /** Takes out what was appended from a position on, and begins the next segment. */
  abandon(position: JournalPosition, error: unknown): void;
  /** Resolves once a disk that has failed keeps something again. */
  probe(): Promise<void>;
}

/** How often a disk that failed is tried: what is promised to be over within a second. */
const PROBE_EVERY_MS = 200;

/** One write at a time. */
export class DurableWrites {
  readonly #parts: DurableParts;
  /** While the disk keeps nothing. */
  #fault: unknown;
  #pending: JournalPosition | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: DurableParts) {
    this.#parts = parts;
  }

  /** Throws while nothing would be kept. */
  check(): void {
    if (this.#fault !== undefined) throw this.#fault;
  }

  /** Where the records begin that are being written, and those that chains may not name yet. */
  get pending(): JournalPosition | undefined {
    return this.#pending;
  }

  async write(records: readonly JournalRecord[]): Promise<JournalPosition> {
    this.check();
    try {
      return await this.#attempt(records);
    } finally {
      const written = this.#pending;
      // Whoever waited has moved the heads of chains by then.
      setImmediate(() => {
        if (this.#pending === written) this.#pending = undefined;
      });
    }
  }

  async #attempt(records: readonly JournalRecord[]): Promise<JournalPosition> {
    for (let isSecond = false; ; isSecond = true) {
      const position = this.#parts.append(records);
      this.#pending = position;
      try {
        await this.#parts.sync();
      } catch (error) {
        if (this.#abandon(position, error) && !isSecond) continue;
        this.#fault = error;
        this.#probeLater();
        throw error;
      }
      this.#parts.kept();
      return position;
    }
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
  }

  /** False where there is no other segment to write to. */
  #abandon(position: JournalPosition, error: unknown): boolean {
    try {
      this.#parts.abandon(position, error);
      return true;
    } catch {
      return false;
    }
  }

  #probeLater(): void {
    if (this.#isClosed) return;
    this.#timer = setTimeout(() => {
      this.#parts.probe().then(
        () => {
          this.#fault = undefined;
        },
        () => this.#probeLater(),
      );
    }, PROBE_EVERY_MS);
    this.#timer.unref();
  }
}
