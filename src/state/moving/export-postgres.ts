/**
 * Exports the state that nodes share in PostgreSQL from one snapshot during operation, so that entries, heads and
 * records are consistent. The file has the same format as any other export.   docs/state.md
 */
import type { PoolClient } from "pg";
import {
  CUT_NUMBER,
  FIRST_SEGMENT,
  readCutRows,
  readHeadRows,
  readingSnapshot,
  readMeta,
} from "../postgres/cut-rows.ts";
import { pagesOf } from "../postgres/driver.ts";
import { EVENTS } from "../postgres/records.ts";
import type { PostgresStore } from "../postgres/store.ts";
import { CHAIN_HEADS } from "../records/known-chains.ts";
import type { Change } from "../store.ts";
import { exportLines, type RecordLine } from "./export-state.ts";
import { headerLine, stateLine } from "./state-file.ts";

const PAGE = 500;
/** Smaller, since an entry may be megabytes. */
const ENTRY_PAGE = 100;

/** Yields the lines of an export. */
export function exportPostgres(store: PostgresStore, serverId: string): AsyncIterable<string> {
  return exportLines(linesOf(store, serverId));
}

function linesOf(
  { pool, name }: PostgresStore,
  serverId: string,
): AsyncIterable<string | Change | RecordLine> {
  return readingSnapshot(pool, async function* (client) {
    const first = Number((await readMeta(client, name, FIRST_SEGMENT)) ?? 1);
    yield headerLine(serverId, first);
    for await (const { jws } of readCutRows(client, name)) yield stateLine({ kind: "cut", jws });
    for await (const head of readHeadRows(client, name))
      yield stateLine({ kind: "cut-head", head });
    yield* entriesOf(client, name);
    yield* headsOf(client, name);
    yield* recordsOf(client, name);
  });
}

async function* entriesOf(client: PoolClient, name: string): AsyncGenerator<Change> {
  type Row = Record<"collection" | "key" | "value", string>;
  const rows = pagesOf<Row>(ENTRY_PAGE, (last) =>
    client.query(
      `SELECT collection, key, value FROM ${name}.entries
        WHERE (collection, key) > ($1, $2) ORDER BY collection, key LIMIT ${ENTRY_PAGE}`,
      [last?.collection ?? "", last?.key ?? ""],
    ),
  );
  for await (const { collection, key, value } of rows) {
    yield { kind: "put", collection, key, value: JSON.parse(value) };
  }
}

/** Yields the heads as entries, as in the store of a deployment with a journal. */
async function* headsOf(client: PoolClient, name: string): AsyncGenerator<Change> {
  const rows = pagesOf<Record<"agent_id" | "audit_id" | "at" | "method", string>>(PAGE, (last) =>
    client.query(
      `SELECT agent_id, audit_id, at, method FROM ${name}.heads
        WHERE agent_id > $1 ORDER BY agent_id LIMIT ${PAGE}`,
      [last?.agent_id ?? ""],
    ),
  );
  for await (const { agent_id: key, audit_id, at, method } of rows) {
    const value = { audit_id, at: Number(at), method };
    yield { kind: "put", collection: CHAIN_HEADS, key, value };
  }
}

/** Yields the records, with a checkpoint before the latest events, whose effects the entries may lack. */
async function* recordsOf(client: PoolClient, name: string): AsyncGenerator<RecordLine> {
  const { rows: events } = await client.query<{ number: string | null }>(
    `SELECT min(number) AS number FROM (
      SELECT number FROM ${name}.records WHERE is_event ORDER BY number DESC LIMIT ${EVENTS}
    ) AS latest`,
  );
  const replayed = Number(events[0]?.number ?? Number.POSITIVE_INFINITY);
  // Removed records may not be deleted yet.
  const gone = (await readMeta(client, name, CUT_NUMBER)) ?? "0";
  const rows = pagesOf<{ readonly number: string; readonly jws: string }>(PAGE, (last) =>
    client.query(
      `SELECT number, jws FROM ${name}.records WHERE number > $1 ORDER BY number LIMIT ${PAGE}`,
      [last?.number ?? gone],
    ),
  );
  let isDue = true;
  for await (const { number, jws } of rows) {
    if (isDue && Number(number) >= replayed) {
      isDue = false;
      yield { kind: "checkpoint" };
    }
    yield { kind: "record", jws };
  }
  if (isDue) yield { kind: "checkpoint" };
}
