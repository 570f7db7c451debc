/**
 * Exports what nodes share in PostgreSQL: one snapshot of a database that goes on, so that entries,
 * heads and records are of one moment. The file is that of any other deployment.   docs/state.md
 */
import type { PoolClient } from "pg";
import { VERSION } from "../../base/version.ts";
import { CUT_NUMBER, FIRST_SEGMENT, readCutRows, readHeadRows } from "../postgres/cut-rows.ts";
import { EVENTS } from "../postgres/records.ts";
import type { PostgresStore } from "../postgres/store.ts";
import { CHAIN_HEADS } from "../records/known-chains.ts";
import { exportLines, type RecordLine } from "./export-state.ts";
import { headerLine, type StateLine, stateLine } from "./state-file.ts";

type EntryLine = Extract<StateLine, { readonly kind: "put" }>;

const PAGE = 500;

/** The lines of an export. */
export function exportPostgres(store: PostgresStore, serverId: string): AsyncIterable<string> {
  return exportLines(linesOf(store, serverId));
}

async function* linesOf(
  { pool, name }: PostgresStore,
  serverId: string,
): AsyncGenerator<string | EntryLine | RecordLine> {
  const client = await pool.connect();
  let isBroken = true;
  try {
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY");
    const found = await client.query<{ value: string }>(
      `SELECT value FROM ${name}.meta WHERE name = '${FIRST_SEGMENT}'`,
    );
    const created = { server_id: serverId, created_at: new Date().toISOString(), agtpd: VERSION };
    yield headerLine({ ...created, first_segment: Number(found.rows[0]?.value ?? 1) });
    for await (const { jws } of readCutRows(client, name)) yield stateLine({ kind: "cut", jws });
    for await (const head of readHeadRows(client, name))
      yield stateLine({ kind: "cut-head", head });
    yield* entriesOf(client, name);
    yield* headsOf(client, name);
    yield* recordsOf(client, name);
    await client.query("COMMIT");
    isBroken = false;
  } finally {
    client.release(isBroken);
  }
}

async function* entriesOf(client: PoolClient, name: string): AsyncGenerator<EntryLine> {
  let after: readonly [string, string] = ["", ""];
  for (;;) {
    const { rows } = await client.query<Record<"collection" | "key" | "value", string>>(
      `SELECT collection, key, value FROM ${name}.entries
        WHERE (collection, key) > ($1, $2) ORDER BY collection, key LIMIT ${PAGE}`,
      [...after],
    );
    for (const { collection, key, value } of rows) {
      yield { kind: "put", collection, key, value: JSON.parse(value) };
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    after = [last.collection, last.key];
  }
}

/** The heads, as the entries of a store that has a journal tell them. */
async function* headsOf(client: PoolClient, name: string): AsyncGenerator<EntryLine> {
  let after = "";
  for (;;) {
    const { rows } = await client.query<Record<"agent_id" | "audit_id" | "at" | "method", string>>(
      `SELECT agent_id, audit_id, at, method FROM ${name}.heads
        WHERE agent_id > $1 ORDER BY agent_id LIMIT ${PAGE}`,
      [after],
    );
    for (const { agent_id: key, audit_id, at, method } of rows) {
      const value = { audit_id, at: Number(at), method };
      yield { kind: "put", collection: CHAIN_HEADS, key, value };
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    after = last.agent_id;
  }
}

/** The entries may lack what the latest events brought about: these are told again. */
async function* recordsOf(client: PoolClient, name: string): AsyncGenerator<RecordLine> {
  const { rows: events } = await client.query<{ number: string | null }>(
    `SELECT min(number) AS number FROM (
      SELECT number FROM ${name}.records WHERE is_event ORDER BY number DESC LIMIT ${EVENTS}
    ) AS latest`,
  );
  const replayed = Number(events[0]?.number ?? Number.POSITIVE_INFINITY);
  // What a checkpoint says is gone may not be deleted yet.
  const { rows: gone } = await client.query<{ value: string }>(
    `SELECT value FROM ${name}.meta WHERE name = '${CUT_NUMBER}'`,
  );
  let isDue = true;
  let after = Number(gone[0]?.value ?? 0);
  for (;;) {
    const { rows } = await client.query<{ number: string; jws: string }>(
      `SELECT number, jws FROM ${name}.records WHERE number > $1 ORDER BY number LIMIT ${PAGE}`,
      [after],
    );
    for (const { number, jws } of rows) {
      if (isDue && Number(number) >= replayed) {
        isDue = false;
        yield { kind: "checkpoint" };
      }
      yield { kind: "record", jws };
    }
    after = Number(rows.at(-1)?.number);
    if (rows.length < PAGE) break;
  }
  if (isDue) yield { kind: "checkpoint" };
}
