/**
 * Reads a scheduler's database directly, and never writes to it: some rows of one table, the newest
 * first, with a mask of fields and without what could take over a terminal or a prompt.
 * agentcli protocol "agentcli.inspect"
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import { reasonOf } from "../../../base/thrown.ts";
import { type Failure, failure } from "../failure.ts";
import { maskFields } from "./field-mask.ts";
import { sanitizeValue } from "./sanitize.ts";

/** Table and the column that it is ordered by. */
const ENTITIES: ReadonlyMap<string, readonly [table: string, order: string]> = new Map([
  ["jobs", ["jobs", "created_at"]],
  ["runs", ["runs", "started_at"]],
  ["queue", ["job_dispatch_queue", "created_at"]],
  ["approvals", ["approvals", "requested_at"]],
]);

/** Tells whether rows of this kind can be read. */
export function isEntity(name: string): boolean {
  return ENTITIES.has(name);
}

/** The tables to read. */
export interface InspectOptions {
  /** Absolute; the file exists. */
  readonly dbPath: string;
  readonly entity: string;
  readonly limit: number;
  readonly fields: readonly string[] | undefined;
  readonly sanitize: "none" | "basic";
}

/** The rows, or why there are none to be had. */
export async function inspectScheduler(options: InspectOptions): Promise<JsonRecord | Failure> {
  const { entity, fields, sanitize } = options;
  let rows: readonly JsonRecord[];
  try {
    rows = await readRows(options);
  } catch (error) {
    return failure("scheduler_error", `Scheduler database cannot be read: ${reasonOf(error)}`);
  }
  const items = rows.map((row) => {
    const masked = fields === undefined ? row : maskFields(row, fields);
    return sanitize === "basic" ? sanitizeValue(masked) : masked;
  });
  return { ok: true, target: "openclaw-scheduler", entity, count: items.length, items };
}

async function readRows({ dbPath, entity, limit }: InspectOptions): Promise<readonly JsonRecord[]> {
  const [table, order] = ENTITIES.get(entity) ?? [];
  const { default: Database } = await import("libsql");
  const database = new Database(dbPath, { timeout: 5_000 });
  try {
    database.exec("PRAGMA query_only = ON");
    const statement = database.prepare(`SELECT * FROM ${table} ORDER BY ${order} DESC LIMIT ?`);
    return statement.all(limit) as readonly JsonRecord[];
  } finally {
    database.close();
  }
}
