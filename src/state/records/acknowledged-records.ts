/**
 * The newest records acknowledged to this node, in a local file: a store that was replaced by an older copy, as in a
 * failover, cannot tell what it lost. The file is written and synced in the background, and the store is
 * periodically asked for these records.
 */
import { readBoundedFile } from "../../base/bounded-file.ts";
import { parseRecord } from "../../base/json-value.ts";
import { replaceDerivedFile, replaceStateFile } from "../../base/state-files.ts";

/** A record that a client may have been told of. */
export interface AcknowledgedRecord {
  readonly agentId: string;
  readonly auditId: string;
  /** When it was made, in milliseconds since the epoch; undefined if an earlier build noted it. */
  readonly at?: number | undefined;
}

export interface AcknowledgedOptions {
  readonly path: string;
  /** Returns the records that the store lacks. */
  findLost(records: readonly AcknowledgedRecord[]): Promise<readonly AcknowledgedRecord[]>;
  onLoss(record: AcknowledgedRecord): void;
  /** Called once for a file that cannot be written. */
  onFault(error: unknown): void;
}

/** The most chains remembered, since a store loses its latest records. */
const MAX_CHAINS = 64;
const MAX_BYTES = 65_536;
const WRITE_AFTER_MS = 100;
const ASK_EVERY_MS = 1_000;

/** One per node. */
export class AcknowledgedRecords {
  readonly #options: AcknowledgedOptions;
  /** By agent, latest last. */
  readonly #newest: Map<string, AcknowledgedRecord>;
  #isWritten = true;
  #hasFailed = false;
  #askedAt = 0;
  #timer: NodeJS.Timeout | undefined;
  #working: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: AcknowledgedOptions) {
    this.#options = options;
    const known = readAcknowledged(options.path);
    this.#newest = new Map(known.map((record) => [record.agentId, record]));
  }

  /** Notes an acknowledged record. */
  note(record: AcknowledgedRecord): void {
    this.#newest.delete(record.agentId);
    this.#newest.set(record.agentId, record);
    const [oldest] = this.#newest.keys();
    if (this.#newest.size > MAX_CHAINS && oldest !== undefined) this.#newest.delete(oldest);
    this.#isWritten = false;
  }

  /** Starts the periodic writing and checking. */
  start(): void {
    this.#timer = setTimeout(() => {
      this.#working = this.#work().finally(() => {
        if (!this.#isClosed) this.start();
      });
    }, WRITE_AFTER_MS);
    this.#timer.unref();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#working;
    await this.#write();
  }

  async #work(): Promise<void> {
    await this.#write();
    const now = performance.now();
    if (now - this.#askedAt < ASK_EVERY_MS) return;
    this.#askedAt = now;
    try {
      for (const lost of await this.#options.findLost(this.#records)) this.#options.onLoss(lost);
    } catch {
      // A store that does not answer has not gone back, and reports its fault itself.
    }
  }

  get #records(): readonly AcknowledgedRecord[] {
    return [...this.#newest.values()];
  }

  async #write(): Promise<void> {
    if (this.#isWritten) return;
    this.#isWritten = true;
    try {
      await replaceDerivedFile(this.#options.path, format(this.#records), true);
      this.#hasFailed = false;
    } catch (error) {
      this.#isWritten = false;
      if (!this.#hasFailed) this.#options.onFault(error);
      this.#hasFailed = true;
    }
  }
}

/** Reads the file; empty if it is missing or unreadable. */
export function readAcknowledged(path: string): readonly AcknowledgedRecord[] {
  const { text = "" } = readBoundedFile(path, MAX_BYTES);
  return Object.entries(parseRecord(text) ?? {}).flatMap(
    ([agentId, value]): readonly AcknowledgedRecord[] => {
      if (typeof value === "string") return [{ agentId, auditId: value }];
      const [auditId, at] = Array.isArray(value) ? (value as readonly unknown[]) : [];
      return typeof auditId === "string" && typeof at === "number"
        ? [{ agentId, auditId, at }]
        : [];
    },
  );
}

/** Replaces the file atomically. */
export function writeAcknowledged(path: string, records: readonly AcknowledgedRecord[]): void {
  replaceStateFile(path, format(records));
}

function format(records: readonly AcknowledgedRecord[]): string {
  const noted = records.map(({ agentId, auditId, at }) => {
    return [agentId, at === undefined ? auditId : [auditId, at]] as const;
  });
  return `${JSON.stringify(Object.fromEntries(noted))}\n`;
}
