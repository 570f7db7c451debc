/** Segments whose checkpoint is committed and whose records are not gone yet: a row of `meta`. */
import type { Pool, PoolClient } from "pg";
import { isRecord } from "../../base/json-value.ts";
import type { NumberRange } from "./record-segments.ts";

/** One of them. */
export interface PendingSegment extends NumberRange {
  readonly file: string;
  readonly sha256: string;
  /** True where it may not go before it is in an archive. */
  readonly isKept: boolean;
  /** True once it is there. */
  readonly isArchived: boolean;
}

const PENDING = "cut_pending";

type Asked = Pick<Pool | PoolClient, "query">;

/** The oldest first. */
export async function readPending(db: Asked, name: string): Promise<readonly PendingSegment[]> {
  const { rows } = await db.query<{ value: string }>(
    `SELECT value FROM ${name}.meta WHERE name = '${PENDING}'`,
  );
  const value: unknown = JSON.parse(rows[0]?.value ?? "[]");
  return Array.isArray(value) && value.every(isRecord)
    ? (value as unknown as readonly PendingSegment[])
    : [];
}

/** Writes another list, made from the one that is there. */
export async function changePending(
  client: PoolClient,
  name: string,
  change: (pending: readonly PendingSegment[]) => readonly PendingSegment[],
): Promise<void> {
  const pending = change(await readPending(client, name));
  await client.query(
    `INSERT INTO ${name}.meta VALUES ('${PENDING}', $1)
      ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
    [JSON.stringify(pending)],
  );
}
