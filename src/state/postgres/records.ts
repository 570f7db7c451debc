/**
 * The records of every node in one database. A batch is one statement: the heads of its chains that are as expected
 * are locked in order and moved, and the records of those chains are inserted. A batch with an unknown outcome is
 * appended again unchanged; records stored already are found by their Audit-IDs.   AGTP-IDENTIFIERS "Attribution
 * Chain"
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Pool } from "pg";
import type { WhereCut } from "../journal/archived-records.ts";
import type { JournalRecord } from "../journal/journal.ts";
import type { AcknowledgedRecord } from "../records/acknowledged-records.ts";
import { NO_AUDIT_ID } from "../records/record.ts";
import {
  type Appended,
  type ChainHead,
  type RecordBatch,
  type RecordStore,
  UnknownOutcomeError,
} from "../records/record-store.ts";
import { type StoreFaultKind, StoreUnavailableError } from "../store-fault.ts";
import {
  appendOneStatement,
  appendStatement,
  batchValues,
  type KeptChain,
  oneRecordValues,
} from "./append-statements.ts";
import type { CutEnds } from "./cut-rows.ts";
import { isUnconnected } from "./driver.ts";
import { isAnswer, isRace, postgresFaultKind } from "./fault.ts";
import { PreparedStatement } from "./prepared-statement.ts";

interface PostgresRecordsOptions {
  readonly pool: Pool;
  /** The schema, quoted. */
  readonly name: string;
  /** Knows which records were cut. */
  readonly ends: CutEnds;
  /** Returns where retention moved a record. */
  whereCut(auditId: string): Promise<WhereCut | undefined>;
  /** Throws while this node may not write. */
  checkLease(): void;
  /** Called with an acknowledged record that the database has lost. */
  onLoss(record: AcknowledgedRecord): void;
  /** Called with stored records; of consecutive ones of a chain, with the last. */
  onKept(record: AcknowledgedRecord): void;
  /** Called with the reason why records could not be appended. */
  onUnavailable(fault: StoreUnavailableError): void;
  /** Called with how many records of a batch were stored, and how many must be signed again. */
  onAppended(kept: number, moved: number): void;
}

/** How long a batch is retried. */
const APPEND_MS = 3_000;
const PAUSE_MS = 50;
/** Leaves the pool's other connections for everything else. */
const BATCHES = 4;

interface HeadRow {
  readonly agent_id: string;
  readonly audit_id: string;
  readonly at: string;
  readonly method: string;
}

export class PostgresRecords implements RecordStore {
  readonly isImmediate = false;
  readonly isInStore = true;
  /** For batches of disjoint chains: each has its own connection, and their order is not kept. */
  readonly batches: number = BATCHES;
  readonly #options: PostgresRecordsOptions;
  readonly #append: PreparedStatement;
  readonly #appendOne: PreparedStatement;

  constructor(options: PostgresRecordsOptions) {
    this.#options = options;
    const { pool, name } = options;
    this.#append = new PreparedStatement(pool, appendStatement(name));
    this.#appendOne = new PreparedStatement(pool, appendOneStatement(name));
  }

  async append(batch: RecordBatch): Promise<Appended> {
    const until = performance.now() + APPEND_MS;
    /** True if an earlier attempt may have succeeded. */
    let isRepeated = false;
    for (;;) {
      try {
        const won = await this.#attempt(batch);
        const settling = this.#settle(batch, won, isRepeated);
        // Once records have won they are stored, whatever the database answers later.
        isRepeated ||= won.size > 0;
        const appended = await settling;
        this.#count(batch, appended);
        return appended;
      } catch (error) {
        if (isAnswer(error) && !isRace(error) && !isRepeated) throw this.#unavailable(error);
        if (!isAnswer(error)) isRepeated ||= !isUnconnected(error);
        if (performance.now() > until || this.#options.pool.ending) {
          const fault = this.#unavailable(error);
          if (!isRepeated) throw fault;
          throw new UnknownOutcomeError(
            error,
            batch.records.map(({ auditId }) => auditId),
          );
        }
        await delay(PAUSE_MS);
      }
    }
  }

  #count({ records }: RecordBatch, { moved, failed }: Appended): void {
    let [kept, again] = [0, 0];
    for (const [index, { auditId, chain }] of records.entries()) {
      const { agentId, at } = chain;
      if (failed?.has(agentId) === true) continue;
      if (moved?.has(agentId) === true) {
        again += 1;
        continue;
      }
      kept += 1;
      // A node that lacks a record of a chain lacks its last one too.
      if (records[index + 1]?.chain.agentId !== agentId) {
        this.#options.onKept({ agentId, auditId, at });
      }
    }
    this.#options.onAppended(kept, again);
  }

  #unavailable(error: unknown): StoreUnavailableError {
    const fault = unavailable(error);
    this.#options.onUnavailable(fault);
    return fault;
  }

  probe(): void {
    this.#options.checkLease();
  }

  async find(auditId: string): Promise<string | undefined> {
    const { pool, name } = this.#options;
    const { rows } = await ask(() =>
      pool.query<{ jws: string }>(`SELECT jws FROM ${name}.records WHERE audit_id = $1`, [auditId]),
    );
    return rows[0]?.jws;
  }

  async before(agentId: string, auditId: string | undefined): Promise<JournalRecord | undefined> {
    const { pool, name } = this.#options;
    const { rows } = await ask(() =>
      pool.query<{ audit_id: string; jws: string }>(
        `SELECT audit_id, jws FROM ${name}.records WHERE agent_id = $1 AND ($2::text IS NULL
          OR number < (SELECT number FROM ${name}.records WHERE audit_id = $2))
          ORDER BY number DESC LIMIT 1`,
        [agentId, auditId ?? null],
      ),
    );
    return rows[0] && { auditId: rows[0].audit_id, jws: rows[0].jws };
  }

  whereCut(auditId: string): Promise<WhereCut | undefined> {
    return ask(() => this.#options.whereCut(auditId));
  }

  headsOf(agentIds: readonly string[]): Promise<ReadonlyMap<string, ChainHead>> {
    return ask(() => this.#heads(agentIds));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  /** Returns the chains whose records were stored. */
  async #attempt(batch: RecordBatch): Promise<ReadonlySet<string>> {
    const { records, expected } = batch;
    const [first, second] = records;
    const head = first && expected.get(first.chain.agentId);
    if (first !== undefined && second === undefined && head !== undefined && head !== NO_AUDIT_ID) {
      const { rowCount } = await this.#appendOne.query(oneRecordValues(first, head));
      return new Set(rowCount === 1 ? [first.chain.agentId] : []);
    }
    const { rows } = await this.#append.query<KeptChain>(batchValues(batch));
    return new Set(rows.map(({ agent_id: agentId }) => agentId));
  }

  async #settle(
    { records, expected, since }: RecordBatch,
    won: ReadonlySet<string>,
    isRepeated: boolean,
  ): Promise<Appended> {
    const lost = [...expected.keys()].filter((agentId) => !won.has(agentId));
    if (lost.length === 0) return { moved: new Map() };
    const before = lost.map((agentId) => expected.get(agentId) ?? NO_AUDIT_ID);
    const repeated = isRepeated ? records.map(({ auditId }) => auditId) : [];
    const { pool, name } = this.#options;
    const kept = await readKept(pool, name, [...before, ...repeated]);
    const missing = lost.flatMap((agentId, index) => {
      const auditId = before[index] ?? NO_AUDIT_ID;
      const isThere = auditId === NO_AUDIT_ID || kept.has(auditId);
      return isThere ? [] : [{ agentId, auditId, at: since?.get(agentId) }];
    });
    const gone = await this.#options.ends.lost(missing);
    if (gone[0] !== undefined) this.#options.onLoss(gone[0]);
    const keptChains = new Set(
      records.flatMap(({ auditId, chain }) => (kept.has(auditId) ? [chain.agentId] : [])),
    );
    const heads = await this.#heads(lost);
    const moved = new Map<string, ChainHead>();
    const failed = new Map<string, StoreUnavailableError>();
    const fail = (agentId: string, what: string): void => {
      failed.set(agentId, new StoreUnavailableError("damaged", new Error(`it lacks ${what}`)));
    };
    const lacking = new Map(gone.map(({ agentId, auditId }) => [agentId, auditId]));
    for (const agentId of lost) {
      if (keptChains.has(agentId)) continue;
      const [head, record] = [heads.get(agentId), lacking.get(agentId)];
      if (record !== undefined) fail(agentId, `record ${record}`);
      else if (head === undefined) fail(agentId, `the head of agent ${agentId}'s chain`);
      else moved.set(agentId, head);
    }
    return { moved, failed };
  }

  async #heads(agentIds: readonly string[]): Promise<ReadonlyMap<string, ChainHead>> {
    const { pool, name } = this.#options;
    const { rows } = await pool.query<HeadRow>(
      `SELECT agent_id, audit_id, at, method FROM ${name}.heads WHERE agent_id = ANY($1)`,
      [agentIds],
    );
    return new Map(rows.map((row) => [row.agent_id, headOf(row)]));
  }
}

/** Reads the head of each chain. */
export async function readHeads(pool: Pool, name: string): Promise<ReadonlyMap<string, ChainHead>> {
  const { rows } = await ask(() =>
    pool.query<HeadRow>(`SELECT agent_id, audit_id, at, method FROM ${name}.heads`),
  );
  return new Map(rows.map((row) => [row.agent_id, headOf(row)]));
}

/** Returns those of the records that the database lacks although they were not cut. */
export async function findLostRecords(
  pool: Pool,
  name: string,
  records: readonly AcknowledgedRecord[],
  ends: CutEnds,
): Promise<readonly AcknowledgedRecord[]> {
  if (records.length === 0) return [];
  const auditIds = records.map(({ auditId }) => auditId);
  return ask(async () => {
    const kept = await readKept(pool, name, auditIds);
    return ends.lost(records.filter(({ auditId }) => !kept.has(auditId)));
  });
}

/** Returns those of the Audit-IDs that the database has. */
async function readKept(
  pool: Pool,
  name: string,
  auditIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const { rows } = await pool.query<{ audit_id: string }>(
    `SELECT audit_id FROM ${name}.records WHERE audit_id = ANY($1)`,
    [auditIds],
  );
  return new Set(rows.map(({ audit_id: auditId }) => auditId));
}

/** An event is stored right after its record, so one that a node failed to store is among these. */
export const EVENTS = 1_000;

/** Returns the latest lifecycle events of any agent, in order. */
export async function readLatestEvents(
  pool: Pool,
  name: string,
): Promise<readonly JournalRecord[]> {
  const { rows } = await ask(() =>
    pool.query<{ audit_id: string; jws: string }>(
      `SELECT audit_id, jws FROM ${name}.records WHERE is_event ORDER BY number DESC LIMIT ${EVENTS}`,
    ),
  );
  return rows.map(({ audit_id: auditId, jws }) => ({ auditId, jws })).reverse();
}

function headOf({ audit_id: auditId, at, method }: HeadRow): ChainHead {
  return { auditId, at: Number(at), method };
}

async function ask<Answer>(read: () => Promise<Answer>): Promise<Answer> {
  try {
    return await read();
  } catch (error) {
    throw unavailable(error);
  }
}

function unavailable(error: unknown): StoreUnavailableError {
  const kind: StoreFaultKind = postgresFaultKind(error) ?? "unusable";
  return new StoreUnavailableError(kind, error);
}
