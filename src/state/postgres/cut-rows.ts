/**
 * The rows of `meta` about removed records: the signed checkpoints, and the chain heads of the last cut, stored as
 * lines of an export so that exporting copies them.   AGTP-IDENTIFIERS "Audit Log"
 */
import type { Pool, PoolClient } from "pg";
import type { CutHead } from "../journal/cut-heads.ts";
import { type JournalCut, readCut } from "../journal/cut-record.ts";
import { readStateLine } from "../moving/state-file.ts";
import { inTransaction, pagesOf } from "./driver.ts";

/** The row with the number of the first remaining segment. */
export const FIRST_SEGMENT = "first_segment";
/** The row with the number of the last removed record. */
export const CUT_NUMBER = "cut_number";
/** The prefix of the lines' rows; checkpoints sort before heads. */
export const CUT_LINE = "cut-line:";
/** The prefix of the heads' rows; their segment and a number follow. */
export const CUT_HEADS: string = `${CUT_LINE}heads:`;
/** The prefix of heads for a cut in preparation; the process and a number follow. */
export const STAGED_HEADS = "cut-staged:";
/** The characters of heads in a row. */
export const HEADS_IN_A_ROW: number = 64 * 1024;
/** The rows of lines read at once. */
const ROWS = 8;

/** Returns the name of a checkpoint's row. */
export function cutRow(through: number): string {
  return `${CUT_LINE}${digits(through)}`;
}

/** Returns the name of a row of heads. */
export function headsRow(prefix: string, index: number): string {
  return `${prefix}:${digits(index)}`;
}

/** Pads a number so that names sort by it. */
export function digits(number: number): string {
  return String(number).padStart(9, "0");
}

/** A pool or a connection to query. */
export type Asked = Pick<Pool | PoolClient, "query">;

/** Returns the value of a row of `meta`; undefined if there is none. */
export async function readMeta(db: Asked, name: string, row: string): Promise<string | undefined> {
  const { rows } = await db.query<{ value: string }>(
    `SELECT value FROM ${name}.meta WHERE name = $1`,
    [row],
  );
  return rows[0]?.value;
}

/** Writes a row of `meta`, replacing its value. */
export async function writeMeta(
  db: Asked,
  name: string,
  row: string,
  value: string,
): Promise<void> {
  await db.query(
    `INSERT INTO ${name}.meta VALUES ($1, $2)
      ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    [row, value],
  );
}

/** Returns the last checkpoint; undefined if nothing was cut. */
export async function readLastCutRow(db: Asked, name: string): Promise<JournalCut | undefined> {
  const { rows } = await db.query<{ value: string }>(
    `SELECT value FROM ${name}.meta
      WHERE name > '${CUT_LINE}' AND name < '${CUT_HEADS}' AND value LIKE '{"cut":%'
      ORDER BY name DESC LIMIT 1`,
  );
  return rows[0] && cutOf(rows[0].value);
}

/** Yields the checkpoints after a row, in order. */
export async function* readCutRows(
  db: Asked,
  name: string,
  after: string = CUT_LINE,
): AsyncGenerator<JournalCut> {
  for await (const line of readLines(db, name, { kind: "cut", after, before: CUT_HEADS })) {
    const cut = cutOf(line);
    if (cut !== undefined) yield cut;
  }
}

/** Yields the chain heads of the last cut in the order of its file; they must not change meanwhile. */
export async function* readHeadRows(db: Asked, name: string): AsyncGenerator<CutHead> {
  const range = { kind: "cut_head", after: CUT_LINE, before: AFTER_LINES };
  for await (const text of readLines(db, name, range)) {
    const line = readStateLine(text);
    if (line?.kind === "cut-head") yield line.head;
  }
}

/** The first name after the lines. */
export const AFTER_LINES = "cut-line;";

/** Yields the lines of a kind between two rows, a few rows at a time. */
async function* readLines(
  db: Asked,
  name: string,
  { kind, after, before }: Readonly<Record<"kind" | "after" | "before", string>>,
): AsyncGenerator<string> {
  const rows = pagesOf<Record<"name" | "value", string>>(ROWS, (last) =>
    db.query(
      `SELECT name, value FROM ${name}.meta WHERE name > $1 AND name < '${before}'
        AND value LIKE '{"${kind}":%' ORDER BY name LIMIT ${ROWS}`,
      [last?.name ?? after],
    ),
  );
  for await (const { value } of rows) yield* value.split("\n").filter((text) => text !== "");
}

function cutOf(line: string): JournalCut | undefined {
  const read = readStateLine(line);
  return read?.kind === "cut" ? readCut(read.jws) : undefined;
}

const SNAPSHOT = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";

/** Yields from one snapshot, unaffected by another node's cut. */
export async function* readingSnapshot<Read>(
  pool: Pool,
  read: (client: PoolClient) => AsyncIterable<Read>,
): AsyncGenerator<Read> {
  const client = await pool.connect();
  let isBroken = true;
  try {
    await client.query(SNAPSHOT);
    yield* read(client);
    await client.query("COMMIT");
    isBroken = false;
  } finally {
    client.release(isBroken);
  }
}

/** Reads within one snapshot. */
export function inSnapshot<Done>(
  pool: Pool,
  read: (client: PoolClient) => Promise<Done>,
): Promise<Done> {
  return inTransaction(pool, SNAPSHOT, read);
}

/** A known record; `at` is when it was made, undefined if an earlier build noted it. */
interface KnownRecord {
  readonly agentId: string;
  readonly at?: number | undefined;
}

/** The cut read last. */
interface KnownEnds {
  readonly cutId: string | undefined;
  /** By agent, when its last removed record was made. */
  readonly newest: ReadonlyMap<string, number>;
}

/** Distinguishes records removed by retention from those that the database has lost. */
export class CutEnds {
  readonly #pool: Pool;
  readonly #name: string;
  #known: KnownEnds | undefined;

  constructor(pool: Pool, name: string) {
    this.#pool = pool;
    this.#name = name;
  }

  /** Returns those of the missing records that may have been lost. */
  async lost<Known extends KnownRecord>(records: readonly Known[]): Promise<readonly Known[]> {
    if (records.length === 0) return records;
    const cut = await readLastCutRow(this.#pool, this.#name);
    if (cut === undefined) return records;
    const known = this.#known?.cutId === cut.cutId ? this.#known : await this.#read();
    return records.filter(({ agentId, at = Number.NEGATIVE_INFINITY }) => {
      const newest = known.newest.get(agentId);
      return newest === undefined || at > newest;
    });
  }

  async #read(): Promise<KnownEnds> {
    const known = await inSnapshot(this.#pool, async (client): Promise<KnownEnds> => {
      const cut = await readLastCutRow(client, this.#name);
      const newest = new Map<string, number>();
      for await (const { agentId, at } of readHeadRows(client, this.#name)) newest.set(agentId, at);
      return { cutId: cut?.cutId, newest };
    });
    // Set only after a complete read: with a partial one, removed records would look lost.
    this.#known = known;
    return known;
  }
}
