/**
 * Imports an export into PostgreSQL in one transaction, so that an invalid file changes nothing. An existing
 * deployment is refused, or set aside by renaming its schema.
 */
import type { PoolClient } from "pg";
import { codeOf } from "../../base/thrown.ts";
import type { CutHead } from "../journal/cut-heads.ts";
import type { CutHeadsFile, JournalCut } from "../journal/cut-record.ts";
import { COMMITS_A_TRANSACTION } from "../postgres/commit.ts";
import { CUT_HEADS, cutRow, digits, FIRST_SEGMENT, writeMeta } from "../postgres/cut-rows.ts";
import { writeHeadRows } from "../postgres/cut-writing.ts";
import { quoteName, withClient } from "../postgres/driver.ts";
import { schemaStatement } from "../postgres/schema.ts";
import type { PostgresStore } from "../postgres/store.ts";
import type { ChainHead } from "../records/record-store.ts";
import { isLifecycleRecord } from "../registers/lifecycle-event.ts";
import type { Change } from "../store.ts";
import {
  BATCH,
  type ImportedRecord,
  type ImportReport,
  type ImportTarget,
  importLines,
} from "./import-lines.ts";
import { type StateHeader, stateLine } from "./state-file.ts";

interface PostgresImport {
  readonly store: PostgresStore;
  /** Not quoted. */
  readonly schema: string;
  /** The name under which an existing deployment is set aside. */
  readonly aside?: string | undefined;
  /** Throws if the file is not for this deployment. */
  onHeader(header: StateHeader): void;
}

/** Thrown if the import is refused; the message is a sentence. */
export class ImportRefusal extends Error {
  override readonly name = "ImportRefusal";
}

/**
 * Imports the octets of a file.
 * @throws StateFileError, ImportRefusal
 */
export function importPostgres(
  octets: AsyncIterable<Buffer>,
  target: PostgresImport,
): Promise<ImportReport & { readonly isSetAside: boolean }> {
  const { store, schema, aside, onHeader } = target;
  return withClient(store.pool, async (client) => {
    await client.query("BEGIN");
    try {
      const isSetAside = await makeRoom(client, schema, aside);
      const report = await importLines(octets, async (header) => {
        onHeader(header);
        return new Tables(client, store.name, header);
      });
      await client.query("COMMIT");
      return { ...report, isSetAside };
    } catch (error) {
      await client.query("ROLLBACK").catch(() => undefined);
      throw error;
    }
  });
}

/** Locks the tables, and returns true if a deployment was set aside. */
async function makeRoom(
  client: PoolClient,
  schema: string,
  aside: string | undefined,
): Promise<boolean> {
  const name = quoteName(schema);
  await client.query(
    `LOCK TABLE ${name}.nodes, ${name}.entries, ${name}.heads, ${name}.records IN SHARE ROW EXCLUSIVE MODE`,
  );
  const { rows: live } = await client.query<{ node: string }>(
    `SELECT node FROM ${name}.nodes
      WHERE beat_at > clock_timestamp() - (lease_ms + 1000) * interval '1 ms' ORDER BY node`,
  );
  if (live.length > 0) {
    const names = live.map(({ node }) => `"${node}"`).join(", ");
    throw new ImportRefusal(`stop every daemon first: there is ${names}`);
  }
  const { rows } = await client.query<{ used: boolean }>(
    `SELECT EXISTS (SELECT FROM ${name}.entries) OR EXISTS (SELECT FROM ${name}.heads)
      OR EXISTS (SELECT FROM ${name}.records) AS used`,
  );
  if (rows[0]?.used !== true) return false;
  if (aside === undefined) {
    throw new ImportRefusal(
      "the deployment has a state already: --replace sets it aside and takes that of the file",
    );
  }
  try {
    await client.query(`ALTER SCHEMA ${name} RENAME TO ${quoteName(aside)}`);
    await client.query(schemaStatement(schema));
  } catch (error) {
    if (codeOf(error) !== "42501") throw error;
    throw new ImportRefusal(
      `this role may not set the schema "${schema}" aside: let its owner rename it, and import into an empty one`,
    );
  }
  return true;
}

/** The tables being written. */
class Tables implements ImportTarget {
  readonly #client: PoolClient;
  readonly #name: string;
  readonly #header: StateHeader;
  #records: ImportedRecord[] = [];

  constructor(client: PoolClient, name: string, header: StateHeader) {
    this.#client = client;
    this.#name = name;
    this.#header = header;
  }

  async addCut({ through, jws }: JournalCut): Promise<void> {
    const values = [cutRow(through), stateLine({ kind: "cut", jws })];
    await this.#client.query(`INSERT INTO ${this.#name}.meta VALUES ($1, $2)`, values);
  }

  addRecord(record: ImportedRecord): undefined {
    this.#records.push(record);
  }

  /** Ignored: the next export finds this point itself. */
  addCheckpoint(): void {}

  async write(entries: readonly Change[]): Promise<void> {
    const records = this.#records;
    this.#records = [];
    const puts = entries.filter((one) => one.kind === "put");
    const gone = entries.filter((one) => one.kind === "delete");
    if (puts.length > 0) {
      await this.#client.query(
        `INSERT INTO ${this.#name}.entries
          SELECT c, k, v, (pg_current_xact_id()::text::bigint + value::bigint) * ${COMMITS_A_TRANSACTION}
          FROM ${this.#name}.meta, unnest($1::text[], $2::text[], $3::text[]) AS u (c, k, v)
          WHERE name = 'base'
          ON CONFLICT (collection, key) DO UPDATE SET value = excluded.value`,
        [
          puts.map(({ collection }) => collection),
          puts.map(({ key }) => key),
          puts.map(({ value }) => JSON.stringify(value)),
        ],
      );
    }
    if (gone.length > 0) {
      await this.#client.query(
        `DELETE FROM ${this.#name}.entries e USING unnest($1::text[], $2::text[]) AS u (c, k)
          WHERE e.collection = c AND e.key = k`,
        [gone.map(({ collection }) => collection), gone.map(({ key }) => key)],
      );
    }
    if (records.length === 0) return;
    await this.#client.query(
      `INSERT INTO ${this.#name}.records (audit_id, agent_id, jws, is_event)
        SELECT audit_id, agent_id, jws, is_event
        FROM unnest($1::text[], $2::text[], $3::text[], $4::boolean[]) WITH ORDINALITY
          AS r (audit_id, agent_id, jws, is_event, number) ORDER BY number`,
      [
        records.map(({ linked }) => linked.auditId),
        records.map(({ linked }) => linked.agentId),
        records.map(({ jws }) => jws),
        records.map(({ jws }) => isLifecycleRecord(jws)),
      ],
    );
  }

  /** Stored for the next export. */
  writeCutHeads({ through }: JournalCut, heads: readonly CutHead[]): Promise<CutHeadsFile> {
    const place = { prefix: `${CUT_HEADS}${digits(through)}`, through };
    return writeHeadRows(this.#client, this.#name, place, heads);
  }

  async finish(all: ReadonlyMap<string, ChainHead>): Promise<void> {
    const heads = [...all];
    for (let at = 0; at < heads.length; at += BATCH) {
      const some = heads.slice(at, at + BATCH);
      await this.#client.query(
        `INSERT INTO ${this.#name}.heads
          SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[])`,
        [
          some.map(([agentId]) => agentId),
          some.map(([, { auditId }]) => auditId),
          some.map(([, head]) => head.at),
          some.map(([, { method }]) => method),
        ],
      );
    }
    const { first_segment: first } = this.#header;
    await writeMeta(this.#client, this.#name, FIRST_SEGMENT, String(first));
    // Forces a node that was stopped meanwhile to reload, since the feed has none of this.
    await this.#client.query(`UPDATE ${this.#name}.meta
      SET value = (pg_current_xact_id()::text::bigint + (
        SELECT value::bigint FROM ${this.#name}.meta WHERE name = 'base'))::text
      WHERE name = 'forgotten'`);
  }
}
