/**
 * Schedules the syncs of the journal: either within a second in the background, so that no request waits for the
 * disk, or before each write counts.   AGTP-IDENTIFIERS "Audit Log"
 */
import { closeSync, constants, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { parseRecord } from "../../base/json-value.ts";
import { openStateFile } from "../../base/state-files.ts";
import { decodeJws } from "../../identity/jws.ts";
import { readPlace } from "../records/known-chains.ts";
import type { Journal, JournalPosition, JournalRecord, RecordPlace } from "./journal.ts";

/** Half of the promised second, since the sync takes time as well. */
const WITHIN_MS = 500;

/** Syncs writes within a second, in the background. */
export class JournalSync {
  readonly #work: () => Promise<void>;
  #isDue = false;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();

  /** `work` syncs everything written before its call, and reports failures itself. */
  constructor(work: () => Promise<void>) {
    this.#work = work;
  }

  /** Schedules a sync; called with every write. */
  mark(): void {
    if (this.#isDue) return;
    this.#isDue = true;
    this.#timer = setTimeout(() => void this.flush(), WITHIN_MS);
    // Does not keep the process alive; closing the journal syncs anyway.
    this.#timer.unref();
  }

  /** Syncs now if marked, and resolves when done. */
  flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#running = this.#running
      .then(() => {
        if (!this.#isDue) return undefined;
        this.#isDue = false;
        return this.#work();
      })
      // The failure was reported by `work`.
      .catch(() => undefined);
    return this.#running;
  }
}

/** The operations of a journal that make a write durable. */
interface DurableParts {
  append(...records: Parameters<Journal["write"]>): JournalPosition;
  /** Resolves once the appended octets are on the disk; `isAlone`: there was one record. */
  sync(isAlone: boolean): Promise<void>;
  /** Called once the last appended records are synced. */
  kept(): void;
  /** Removes the records appended from a position on, and begins the next segment. */
  abandon(position: JournalPosition, error: unknown): void;
  /** Resolves once a failed disk works again. */
  probe(): Promise<void>;
}

/** How often a failed disk is probed; recovery is promised within a second. */
const PROBE_EVERY_MS = 200;

/**
 * Writes that survive a power failure, one at a time: each is synced before it counts. A failed sync is final for
 * its file, whose content on the disk is unknown from then on; the records are removed from it and written again, to
 * the next segment. If that fails too, nothing is written until a probe succeeds.
 */
export class DurableWrites {
  readonly #parts: DurableParts;
  /** The error while the disk fails. */
  #fault: unknown;
  #pending: JournalPosition | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(parts: DurableParts) {
    this.#parts = parts;
  }

  /** Throws while the disk fails. */
  check(): void {
    if (this.#fault !== undefined) throw this.#fault;
  }

  /** The position of the records being written, or not yet usable as chain heads. */
  get pending(): JournalPosition | undefined {
    return this.#pending;
  }

  async write(...records: Parameters<Journal["write"]>): Promise<JournalPosition> {
    this.check();
    try {
      return await this.#attempt(records);
    } finally {
      const written = this.#pending;
      // By then the heads of chains have moved.
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

  /** Returns false if no other segment can be begun. */
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
/** A constant length, so that it is replaced in one write. */
const LENGTH = 512;
const FLAGS = constants.O_WRONLY | constants.O_CREAT;

/**
 * Notes the newest synced record in a small file beside the segments: a killed process leaves no checkpoint, and
 * complete lines removed from the end since the last one would go unnoticed. Nothing is noted for a line that is not
 * a record.
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

/** Deletes the mark before records move. */
export function forgetSyncedMark(directory: string): void {
  rmSync(join(directory, NAME), { force: true });
}

/** Reads the mark; undefined if there is none or it is unreadable, as from an earlier build. */
export function readSyncedMark(directory: string): SyncedRecord | undefined {
  const { text = "" } = readBoundedFile(join(directory, NAME), LENGTH);
  const mark = parseRecord(text) ?? {};
  const { agent_id: agentId, audit_id: auditId } = mark;
  const place = readPlace(mark);
  if (typeof agentId !== "string" || typeof auditId !== "string") return undefined;
  return place && { agentId, auditId, place };
}
