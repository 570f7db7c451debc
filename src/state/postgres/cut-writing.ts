/**
 * Writes a cut. The chain heads are staged row by row, since one long transaction would delay the feed of changes to
 * every node; a short transaction then commits everything.
 */
import { createHash } from "node:crypto";
import type { Pool, PoolClient } from "pg";
import { isRecord } from "../../base/json-value.ts";
import { type CutHead, cutHeadLine, headsName } from "../journal/cut-heads.ts";
import type { CutHeadsFile, JournalCut } from "../journal/cut-record.ts";
import { stateLine } from "../moving/state-file.ts";
import {
  AFTER_LINES,
  type Asked,
  CUT_HEADS,
  CUT_LINE,
  CUT_NUMBER,
  cutRow,
  digits,
  FIRST_SEGMENT,
  HEADS_IN_A_ROW,
  headsRow,
  readMeta,
  STAGED_HEADS,
  writeMeta,
} from "./cut-rows.ts";
import type { NumberRange } from "./record-segments.ts";

/** Writes heads in rows with a prefix; returns the description of their file. */
export async function writeHeadRows(
  db: Asked,
  name: string,
  { prefix, through }: { readonly prefix: string; readonly through: number },
  heads: AsyncIterable<CutHead> | readonly CutHead[],
): Promise<CutHeadsFile> {
  const digest = createHash("sha256");
  let chains = 0;
  let rows = 0;
  let lines = "";
  const flush = async (): Promise<void> => {
    rows += 1;
    const values = [headsRow(prefix, rows), lines];
    await db.query(`INSERT INTO ${name}.meta VALUES ($1, $2)`, values);
    lines = "";
  };
  for await (const head of heads) {
    digest.update(cutHeadLine(head));
    chains += 1;
    lines += stateLine({ kind: "cut-head", head });
    if (lines.length >= HEADS_IN_A_ROW) await flush();
  }
  if (lines !== "") await flush();
  return { file: headsName(through), sha256: digest.digest("hex"), chains };
}

/** Stages heads for a process, replacing its earlier ones. */
export async function stageHeads(
  pool: Pool,
  name: string,
  { self, through }: { readonly self: string; readonly through: number },
  heads: AsyncIterable<CutHead>,
): Promise<CutHeadsFile> {
  const prefix = `${STAGED_HEADS}${self}`;
  await pool.query(`DELETE FROM ${name}.meta WHERE starts_with(name, $1)`, [prefix]);
  return writeHeadRows(pool, name, { prefix, through }, heads);
}

/** Commits a cut with its staged heads. */
export async function commitCut(
  client: PoolClient,
  name: string,
  { cut, self, to }: { readonly cut: JournalCut; readonly self: string; readonly to: number },
): Promise<void> {
  await client.query(
    `DELETE FROM ${name}.meta WHERE name > '${CUT_LINE}' AND name < '${AFTER_LINES}'
      AND value LIKE '{"cut_head":%'`,
  );
  const prefix = `${STAGED_HEADS}${self}`;
  await client.query(
    `UPDATE ${name}.meta SET name = $2 || substr(name, length($1) + 1) WHERE starts_with(name, $1)`,
    [prefix, `${CUT_HEADS}${digits(cut.through)}`],
  );
  await client.query(`DELETE FROM ${name}.meta WHERE starts_with(name, '${STAGED_HEADS}')`);
  await client.query(`INSERT INTO ${name}.meta VALUES ($1, $2)`, [
    cutRow(cut.through),
    stateLine({ kind: "cut", jws: cut.jws }),
  ]);
  await writeMeta(client, name, FIRST_SEGMENT, String(cut.through + 1));
  await writeMeta(client, name, CUT_NUMBER, String(to));
}

/** A segment with a committed checkpoint whose records are not deleted yet. */
export interface PendingSegment extends NumberRange {
  readonly file: string;
  readonly sha256: string;
  /** True if it must be archived before its records are deleted. */
  readonly isKept: boolean;
  /** True once it is archived. */
  readonly isArchived: boolean;
}

/** The row of `meta` that lists them. */
const PENDING = "cut_pending";

/** Returns the pending segments, oldest first. */
export async function readPending(db: Asked, name: string): Promise<readonly PendingSegment[]> {
  const value: unknown = JSON.parse((await readMeta(db, name, PENDING)) ?? "[]");
  return Array.isArray(value) && value.every(isRecord)
    ? (value as unknown as readonly PendingSegment[])
    : [];
}

/** Updates the list of pending segments. */
export async function changePending(
  client: PoolClient,
  name: string,
  change: (pending: readonly PendingSegment[]) => readonly PendingSegment[],
): Promise<void> {
  const pending = change(await readPending(client, name));
  await writeMeta(client, name, PENDING, JSON.stringify(pending));
}
