/**
 * The rows of `meta` about records that were cut off: the signed checkpoints and where every chain stood
 * at the last of them, as lines of an export, so that an export has them as they are.
 * AGTP-IDENTIFIERS "Audit Log"
 */
import type { Pool, PoolClient } from "pg";
import type { CutHead } from "../journal/cut-heads.ts";
import { type JournalCut, readCut } from "../journal/cut-record.ts";
import { readStateLine } from "../moving/state-file.ts";
import { inTransaction, pagesOf } from "./driver.ts";

/** The number of the first segment that is not gone. */
export const FIRST_SEGMENT = "first_segment";
/** The number of the last record that is gone. */
export const CUT_NUMBER = "cut_number";
/** The names of the lines begin so; the checkpoints stand before the heads. */
export const CUT_LINE = "cut-line:";
/** The names of the heads: behind it the segment that they are of, and their number. */
export const CUT_HEADS: string = `${CUT_LINE}heads:`;
/** Names of heads that belong to a cut that is not made yet: behind it whose they are, and their number. */
export const STAGED_HEADS = "cut-staged:";
/** So many characters of heads stand in a row. */
export const HEADS_IN_A_ROW: number = 64 * 1024;
/** So many rows of lines are read at once. */
const ROWS = 8;

/** The name of the row of a checkpoint. */
export function cutRow(through: number): string {
  return `${CUT_LINE}${digits(through)}`;
}

/** The name of a row of heads. */
export function headsRow(prefix: string, index: number): string {
  return `${prefix}:${digits(index)}`;
}

/** Names of rows are in the order of these. */
export function digits(number: number): string {
  return String(number).padStart(9, "0");
}

/** Whatever asks the database. */
export type Asked = Pick<Pool | PoolClient, "query">;

/** The value of a row of `meta`; undefined where there is none. */
export async function readMeta(db: Asked, name: string, row: string): Promise<string | undefined> {
  const { rows } = await db.query<{ value: string }>(
    `SELECT value FROM ${name}.meta WHERE name = $1`,
    [row],
  );
  return rows[0]?.value;
}

/** Writes a row of `meta`, over what it had. */
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

/** The last checkpoint; undefined where nothing was cut. */
export async function readLastCutRow(db: Asked, name: string): Promise<JournalCut | undefined> {
  const { rows } = await db.query<{ value: string }>(
    `SELECT value FROM ${name}.meta
      WHERE name > '${CUT_LINE}' AND name < '${CUT_HEADS}' AND value LIKE '{"cut":%'
      ORDER BY name DESC LIMIT 1`,
  );
  return rows[0] && cutOf(rows[0].value);
}

/** The checkpoints whose rows stand behind one, in order. */
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

/** Where chains stood at the last cut, in the order of its file; nothing is written meanwhile. */
export async function* readHeadRows(db: Asked, name: string): AsyncGenerator<CutHead> {
  const range = { kind: "cut_head", after: CUT_LINE, before: AFTER_LINES };
  for await (const text of readLines(db, name, range)) {
    const line = readStateLine(text);
    if (line?.kind === "cut-head") yield line.head;
  }
}

/** The first name behind all lines. */
export const AFTER_LINES = "cut-line;";

/** The lines of a kind in the rows between two, a few rows at a time. */
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

/** Reads in one snapshot, also while another node cuts. */
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

/** Reads in one snapshot, whole. */
export function inSnapshot<Done>(
  pool: Pool,
  read: (client: PoolClient) => Promise<Done>,
): Promise<Done> {
  return inTransaction(pool, SNAPSHOT, read);
}

/** A record that somebody knows of; `at` is when it was made, undefined where an earlier build has not noted it. */
interface KnownRecord {
  readonly agentId: string;
  readonly at?: number | undefined;
}

/** The cut that was read last. */
interface KnownEnds {
  readonly cutId: string | undefined;
  /** By agent when the last of its records that went was made. */
  readonly newest: ReadonlyMap<string, number>;
}

/** Tells records that were cut off from those that a database has lost. */
export class CutEnds {
  readonly #pool: Pool;
  readonly #name: string;
  #known: KnownEnds | undefined;

  constructor(pool: Pool, name: string) {
    this.#pool = pool;
    this.#name = name;
  }

  /** Finds the records that are not there and may have been lost. */
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
    // As a whole, and once it was read to its end: half of it would have records that were cut off be lost.
    this.#known = known;
    return known;
  }
}
