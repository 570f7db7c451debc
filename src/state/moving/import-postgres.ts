/**
 * Imports an export into PostgreSQL, as one transaction: a file that does not hold changes nothing.
 * A deployment that is there already is refused, or set aside under another name of its schema.
 */
import type { PoolClient } from "pg";
import { codeOf } from "../../base/thrown.ts";
import { COMMITS_A_TRANSACTION } from "../postgres/commit.ts";
import { CUT_HEADS, cutRow, digits, FIRST_SEGMENT, writeMeta } from "../postgres/cut-rows.ts";
import { writeHeadRows } from "../postgres/cut-writing.ts";
import { quoteName, withClient } from "../postgres/driver.ts";
import { schemaStatement } from "../postgres/schema.ts";
import type { PostgresStore } from "../postgres/store.ts";
import { CHAIN_CHECKPOINTS, CHAIN_HEADS } from "../records/known-chains.ts";
import { isLifecycleRecord } from "../registers/lifecycle-event.ts";
import type { Change } from "../store.ts";
import {
  BATCH,
  BATCH_CHARACTERS,
  ImportedChains,
  type ImportLine,
  type ImportReport,
  readImport,
} from "./imported-chains.ts";
import { type StateHeader, stateLine } from "./state-file.ts";

interface PostgresImport {
  readonly store: PostgresStore;
  /** Not quoted. */
  readonly schema: string;
  /** The deployment that is there is set aside under this name. */
  readonly aside?: string | undefined;
  /** Throws where the file is not for this deployment. */
  onHeader(header: StateHeader): void;
}

/** It is not imported; the message is a sentence. */
export class ImportRefusal extends Error {
  override readonly name = "ImportRefusal";
}

/** Imports the octets of a file. @throws StateFileError, ImportRefusal */
export function importPostgres(
  octets: AsyncIterable<Buffer>,
  target: PostgresImport,
): Promise<ImportReport & { readonly isSetAside: boolean }> {
  const { store, schema, aside, onHeader } = target;
  return withClient(store.pool, async (client) => {
    await client.query("BEGIN");
    try {
      const isSetAside = await makeRoom(client, schema, aside);
      const entering = new Entering(client, store.name);
      const report = await readImport(octets, async (header) => {
        onHeader(header);
        return (line) => entering.add(line);
      });
      await entering.finish(report.header);
      await client.query("COMMIT");
      return { ...report, isSetAside };
    } catch (error) {
      await client.query("ROLLBACK").catch(() => undefined);
      throw error;
    }
  });
}

/** Nobody writes from here on; answers whether something was set aside. */
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

/** The tables while they are written. */
class Entering {
  readonly #client: PoolClient;
  readonly #name: string;
  readonly #chains = new ImportedChains();
  /** The later of two lines of a key stands for both. */
  #entries = new Map<string, Change>();
  #records: Extract<ImportLine, { readonly kind: "record" }>[] = [];
  #characters = 0;

  constructor(client: PoolClient, name: string) {
    this.#client = client;
    this.#name = name;
  }

  async add(line: ImportLine): Promise<void> {
    if (line.kind === "checkpoint") return;
    if (line.kind === "cut") return this.#addCut(line.jws);
    if (line.kind === "cut-head") return this.#chains.addCutHead(line.head);
    if (line.kind === "record") {
      const { agentId, auditId, at, method } = line.linked;
      this.#chains.heads.set(agentId, { auditId, at, method });
      this.#records.push(line);
      this.#characters += line.jws.length;
    } else if (line.collection === CHAIN_HEADS) this.#chains.noteHead(line);
    else if (line.collection !== CHAIN_CHECKPOINTS) {
      this.#entries.set(JSON.stringify([line.collection, line.key]), line);
      if (line.kind === "put") this.#characters += JSON.stringify(line.value)?.length ?? 0;
    }
    const count = this.#entries.size + this.#records.length;
    if (count >= BATCH || this.#characters >= BATCH_CHARACTERS) await this.#flush();
  }

  /** Behind the last line. */
  async finish({ first_segment }: StateHeader): Promise<void> {
    await this.#flush();
    const heads = [...this.#chains.heads];
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
    await writeMeta(this.#client, this.#name, FIRST_SEGMENT, String(first_segment));
    // The next export has them again.
    await this.#chains.writeCutHeads(({ through }, ends) => {
      const place = { prefix: `${CUT_HEADS}${digits(through)}`, through };
      return writeHeadRows(this.#client, this.#name, place, ends);
    });
    // A node that was stopped meanwhile finds none of this among the changes: it reads all.
    await this.#client.query(`UPDATE ${this.#name}.meta
      SET value = (pg_current_xact_id()::text::bigint + (
        SELECT value::bigint FROM ${this.#name}.meta WHERE name = 'base'))::text
      WHERE name = 'forgotten'`);
  }

  async #addCut(jws: string): Promise<void> {
    const { through } = this.#chains.addCut(jws);
    const values = [cutRow(through), stateLine({ kind: "cut", jws })];
    await this.#client.query(`INSERT INTO ${this.#name}.meta VALUES ($1, $2)`, values);
  }

  async #flush(): Promise<void> {
    const [entries, records] = [[...this.#entries.values()], this.#records];
    this.#entries = new Map();
    this.#records = [];
    this.#characters = 0;
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
}
