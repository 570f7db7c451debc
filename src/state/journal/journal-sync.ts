/**
 * When what was written to the journal is synced: within a second, beside serving, as the disk's own pace is
 * nobody's wait; or each write before it counts.   AGTP-IDENTIFIERS "Audit Log"
 */
import { closeSync, constants, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { parseRecord } from "../../base/json-value.ts";
import { openStateFile } from "../../base/state-files.ts";
import { decodeJws } from "../../identity/jws.ts";
import { readPlace } from "../records/known-chains.ts";
import type { Journal, JournalPosition, JournalRecord, RecordPlace } from "./journal.ts";

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
  /** Resolves once what was appended is on the disk; `isAlone`: it was one record. */
  sync(isAlone: boolean): Promise<void>;
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
      // The heads of chains have moved by then.
      setImmediate(() => {
        if (this.#pending === written) this.#pending = undefined;
      });
    }
  }

  async #attempt(records: Parameters<Journal["write"]>): Promise<JournalPosition> {
    const [lines, packed = []] = records;
    const isAlone = lines.length === 1 && packed.length === 0;
    for (let isSecond = false; ; isSecond = true) {
      const position = this.#parts.append(...records);
      this.#pending = position;
      try {
        await this.#parts.sync(isAlone);
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

interface SyncedRecord {
  readonly auditId: string;
  readonly agentId: string;
  readonly place: RecordPlace;
}

const NAME = "synced.json";
/** Always as long, so that it is replaced in one write. */
const LENGTH = 512;
const FLAGS = constants.O_WRONLY | constants.O_CREAT;

/**
 * Notes the newest record that is known to be on its disk, in a small file beside the segments: a killed process
 * leaves no checkpoint, and without this nobody would miss whole lines that were taken from the end since the last
 * one. Of what is no record, nothing is noted.
 */
export function writeSyncedMark(
  directory: string,
  { auditId, jws }: JournalRecord,
  place: RecordPlace,
): void {
  const agentId = decodeJws(jws)?.payload["agent_id"];
  if (typeof agentId !== "string") return;
  const text = JSON.stringify({ agent_id: agentId, audit_id: auditId, ...place });
  if (text.length >= LENGTH) return;
  const file = openStateFile(join(directory, NAME), FLAGS);
  try {
    writeSync(file, `${text.padEnd(LENGTH - 1)}\n`, 0);
  } finally {
    closeSync(file);
  }
}

/** Forgets what is noted: records are about to move. */
export function forgetSyncedMark(directory: string): void {
  rmSync(join(directory, NAME), { force: true });
}

/** Undefined where nothing is noted, or cannot be read: an earlier build noted nothing. */
export function readSyncedMark(directory: string): SyncedRecord | undefined {
  const { text = "" } = readBoundedFile(join(directory, NAME), LENGTH);
  const mark = parseRecord(text) ?? {};
  const { agent_id: agentId, audit_id: auditId } = mark;
  const place = readPlace(mark);
  if (typeof agentId !== "string" || typeof auditId !== "string") return undefined;
  return place && { agentId, auditId, place };
}
