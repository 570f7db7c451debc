/**
 * The safeguards that not every scheduler keeps: its table says which columns it has. A field that it
 * has no column for would be dropped without a word, and a job would run with less over it than its
 * manifest asks.   agentcli spec "openclaw-scheduler"
 */
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { SchedulerJob } from "../compile/scheduler-job.ts";

/** The manifest's name of it, and the columns that hold it. */
const SAFEGUARDS: readonly (readonly [what: string, columns: readonly string[]])[] = [
  ["verify", ["verify_shell", "verify_timeout_s", "verify_on_failure"]],
  ["approval.approver_scope", ["approval_approver_scope"]],
  ["approval.risk_level", ["approval_risk_level"]],
];

/** A safeguard that a job would lose. */
export interface LostSafeguard {
  readonly jobId: string;
  readonly name: string;
  readonly what: string;
}

/** The columns of a scheduler's jobs, as far as they can be known; empty: none is known. */
export async function readJobColumns(
  listed: readonly unknown[],
  dbPath: string | undefined,
  directory: string,
): Promise<ReadonlySet<string>> {
  const [row] = listed.filter(isRecord);
  if (row !== undefined) return new Set(Object.keys(row));
  const file = dbPath === undefined ? undefined : resolve(directory, dbPath);
  return file === undefined || !existsSync(file) ? new Set() : readTable(file);
}

/** Fields of safeguards that these columns can hold. */
export function keptFields(columns: ReadonlySet<string>): readonly string[] {
  return SAFEGUARDS.flatMap(([, fields]) => (holds(columns, fields) ? fields : []));
}

/** The demands of jobs that these columns cannot hold. */
export function lostSafeguards(
  jobs: readonly SchedulerJob[],
  columns: ReadonlySet<string>,
): readonly LostSafeguard[] {
  return jobs.flatMap((job) =>
    SAFEGUARDS.filter(([, fields]) => isAsked(job, fields) && !holds(columns, fields)).map(
      ([what]) => ({ jobId: job.id, name: job.name, what }),
    ),
  );
}

function isAsked(job: JsonRecord, fields: readonly string[]): boolean {
  return fields.some((field) => job[field] !== undefined && job[field] !== null);
}

function holds(columns: ReadonlySet<string>, fields: readonly string[]): boolean {
  return fields.every((field) => columns.has(field));
}

async function readTable(file: string): Promise<ReadonlySet<string>> {
  const { default: Database } = await import("libsql");
  try {
    const database = new Database(file, { timeout: 5_000 });
    try {
      database.exec("PRAGMA query_only = ON");
      const rows = database.prepare("SELECT name FROM pragma_table_info('jobs')").all();
      return new Set((rows as readonly { readonly name: string }[]).map(({ name }) => name));
    } finally {
      database.close();
    }
  } catch {
    // A file that is no database yet has no columns that anybody can count on.
    return new Set();
  }
}
