/** Reads and deletes the records in a range of numbers, page by page during operation. */
import { createHash } from "node:crypto";
import type { Pool } from "pg";
import type { SurveyedSegment } from "../journal/cut-survey.ts";
import type { JournalRecord } from "../journal/journal.ts";
import { pagesOf } from "./driver.ts";
import type { NumberRange } from "./record-segments.ts";

/** The records read per turn, as each is parsed. */
const PAGE = 64;
/** The records deleted by one statement. */
const SLICE = 1_000;

/** Yields the records of a range in order. */
export async function* readRange(
  pool: Pool,
  name: string,
  { after, to }: NumberRange,
): AsyncGenerator<JournalRecord> {
  const rows = pagesOf<Record<"number" | "audit_id" | "jws", string>>(PAGE, (last) =>
    pool.query(
      `SELECT number, audit_id, jws FROM ${name}.records
        WHERE number > $1 AND number <= $2 ORDER BY number LIMIT ${PAGE}`,
      [last?.number ?? after, to],
    ),
  );
  for await (const { audit_id: auditId, jws } of rows) yield { auditId, jws };
}

/** Describes the records of a range as a journal segment: a line each. */
export function surveyedRange(
  file: string,
  read: () => AsyncIterable<JournalRecord>,
): SurveyedSegment {
  const digest = createHash("sha256");
  let bytes = 0;
  return {
    file,
    async *read() {
      for await (const record of read()) {
        digest.update(record.jws).update("\n");
        bytes += record.jws.length + 1;
        yield record;
      }
    },
    digest: () => Promise.resolve({ bytes, sha256: digest.digest("hex") }),
  };
}

/** Deletes the records of a range, oldest first, slice by slice; autovacuum frees their space. */
export async function deleteRange(
  pool: Pool,
  name: string,
  { after, to }: NumberRange,
  onSlice: () => void,
): Promise<void> {
  for (;;) {
    const { rowCount } = await pool.query(
      `DELETE FROM ${name}.records WHERE number IN (
        SELECT number FROM ${name}.records WHERE number > $1 AND number <= $2
        ORDER BY number LIMIT ${SLICE})`,
      [after, to],
    );
    if ((rowCount ?? 0) === 0) return;
    onSlice();
  }
}
