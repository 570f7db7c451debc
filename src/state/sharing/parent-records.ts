/**
 * The record store of a worker: its parent appends, and decides between the workers. A batch is stored once the
 * parent has answered.   AGTP-IDENTIFIERS "Attribution Chain"
 */

import type { Link } from "../../base/link.ts";
import type { WhereCut } from "../journal/archived-records.ts";
import type { JournalRecord } from "../journal/journal.ts";
import type { Appended, ChainHead, RecordBatch, RecordStore } from "../records/record-store.ts";
import { encodeBatch } from "./sealed-batch.ts";
import type { Moved } from "./sealed-chains.ts";

/** More batches in flight would only be smaller. */
const BATCHES = 8;

export class ParentRecords implements RecordStore {
  readonly isImmediate = false;
  /** The parent decides in the order of the link. */
  readonly isOrdered = true;
  readonly batches: number = BATCHES;
  readonly #link: Link;
  readonly #checkLease: () => void;
  #fault: unknown;
  #isProbing = false;

  constructor(link: Link, checkLease: () => void) {
    this.#link = link;
    this.#checkLease = checkLease;
  }

  async append(batch: RecordBatch): Promise<Appended> {
    const { message, cargo } = encodeBatch(batch);
    try {
      const moved = await this.#link.ask<Moved>("append", message, cargo);
      this.#fault = undefined;
      return { moved: new Map(moved.map(([agentId, head]) => [agentId, head ?? undefined])) };
    } catch (error) {
      this.#fault = error;
      throw error;
    }
  }

  turnAt(agentId: string, isLost: boolean): Promise<ChainHead | undefined> {
    return this.#link.ask("turn", [agentId, isLost]);
  }

  onRaced(hear: (agentId: string) => void): void {
    this.#link.serve({ raced: hear });
  }

  /** After a failure asks the parent, and throws until it has answered. */
  probe(): void {
    this.#checkLease();
    if (this.#fault === undefined) return;
    if (!this.#isProbing) {
      this.#isProbing = true;
      this.#link
        .ask("probe")
        .then(
          () => {
            this.#fault = undefined;
          },
          () => undefined,
        )
        .finally(() => {
          this.#isProbing = false;
        });
    }
    throw this.#fault;
  }

  find(auditId: string): Promise<string | undefined> {
    return this.#link.ask("find", auditId);
  }

  before(agentId: string, auditId: string | undefined): Promise<JournalRecord | undefined> {
    return this.#link.ask("before", [agentId, auditId ?? null]);
  }

  whereCut(auditId: string): Promise<WhereCut | undefined> {
    return this.#link.ask("where-cut", auditId);
  }

  async headsOf(agentIds: readonly string[]): Promise<ReadonlyMap<string, ChainHead>> {
    return new Map(
      await this.#link.ask<readonly (readonly [string, ChainHead])[]>("heads", agentIds),
    );
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}
