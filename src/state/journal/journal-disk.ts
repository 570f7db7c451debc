/**
 * The disk operations of the journal, the seam at which a test injects faults; and when what was written is
 * synced: within a second, beside serving, as the disk's own pace is nobody's wait; or each write before it
 * counts.   AGTP-IDENTIFIERS "Audit Log"
 */
import { createHash } from "node:crypto";
import { close, fdatasync, fsync, open, writeSync } from "node:fs";
import { type FileHandle, open as openHandle, stat } from "node:fs/promises";
import { promisify } from "node:util";
import { codeOf } from "../../base/thrown.ts";
import type { Journal, JournalPosition } from "./journal.ts";

export interface JournalDisk {
  /** Appends as many octets as the disk takes, and answers how many those were. */
  write(file: number, octets: Uint8Array): number;
  /** Resolves once the octets of a file are on the disk. */
  sync(file: number): Promise<void>;
  /** Resolves once the names in a directory are on the disk. */
  syncDirectory(path: string): Promise<void>;
}

const closeFile = promisify(close);
const openFile = promisify(open);
const syncFile = promisify(fsync);

/** The disk as it is. */
export const DISK: JournalDisk = {
  write: (file, octets) => writeSync(file, octets),
  sync: promisify(fdatasync),
  async syncDirectory(path) {
    const directory = await openFile(path, "r");
    try {
      await syncFile(directory);
    } finally {
      await closeFile(directory);
    }
  },
};

/** Tells whether something has this path. */
export function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Opens a file for reading; undefined where there is none. */
export async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await openHandle(path, "r");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** So many characters are written at once. */
const CHUNK = 64 * 1024;

/**
 * Writes a file of lines, which come with their line feeds, and resolves with its SHA-256 once it is on the
 * disk; its name may not be.
 */
export async function writeLines(
  path: string,
  flags: "w" | "wx",
  lines: AsyncIterable<string>,
): Promise<string> {
  const digest = createHash("sha256");
  const out = await openHandle(path, flags, 0o600);
  try {
    let text = "";
    const flush = async (): Promise<void> => {
      digest.update(text);
      await out.write(text);
      text = "";
    };
    for await (const line of lines) {
      text += line;
      if (text.length >= CHUNK) await flush();
    }
    await flush();
    await out.sync();
  } finally {
    await out.close();
  }
  return digest.digest("hex");
}

/** Half of what is promised, since a sync takes its time as well. */
const WITHIN_MS = 500;

/** Syncs what was written within a second, beside serving. */
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

/** The operations of a journal that make a write durable. */
interface DurableParts {
  append(...records: Parameters<Journal["write"]>): JournalPosition;
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

/**
 * Writes that a power cut cannot undo, one at a time: each is synced before it counts. A sync that
 * failed is final for its file, which says nothing any more about what is on the disk; the records
 * are taken out of it and written once more, to the next segment. Where that fails as well, nothing
 * is written until a probe was synced.
 */
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

  async write(...records: Parameters<Journal["write"]>): Promise<JournalPosition> {
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

  async #attempt(records: Parameters<Journal["write"]>): Promise<JournalPosition> {
    for (let isSecond = false; ; isSecond = true) {
      const position = this.#parts.append(...records);
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
