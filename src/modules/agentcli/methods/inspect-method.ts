/**
 * `agentcli.inspect`: checks its arguments in a fixed order and answers with the first fault. It reads rows of one
 * table of a scheduler's database, newest first and without writing, applies a field mask, and removes what could take
 * over a terminal or a prompt.   agentcli protocol "agentcli.inspect"
 */
import { resolve } from "node:path";
import { isFile } from "../../../base/bounded-file.ts";
import {
  isRecord,
  type JsonRecord,
  memberOf,
  parseJson,
  recordIn,
} from "../../../base/json-value.ts";
import { reasonOf } from "../../../base/thrown.ts";
import { type Failure, failure, invalidArgument, isFailure } from "../failure.ts";
import { readDatabase } from "../scheduler/capabilities.ts";
import type { MethodContext } from "./method.ts";

const USUAL_LIMIT = 20;
const MAX_LIMIT = 10_000;

/** Reads rows of a scheduler's database. */
export async function inspectMethod(
  params: JsonRecord,
  { world, defaults }: MethodContext,
): Promise<JsonRecord | Failure> {
  const entity = given(params["entity"]) ?? "jobs";
  if (typeof entity !== "string" || !ENTITIES.has(entity)) {
    return invalidArgument(`Unsupported inspect entity: ${String(entity)}`);
  }
  const sanitize = given(params["sanitize"]) ?? "none";
  if (sanitize !== "none" && sanitize !== "basic") {
    return invalidArgument(`Unsupported sanitize mode: ${String(sanitize)}`);
  }
  const path = given(params["dbPath"]) ?? defaults.dbPath;
  if (typeof path !== "string") {
    return invalidArgument("Missing scheduler database path. Pass dbPath or configure a default.");
  }
  const dbPath = resolve(world.directory, path);
  if (!isFile(dbPath)) return invalidArgument(`Scheduler database not found: ${path}`);
  const limit = readLimit(params["limit"]);
  if (isFailure(limit)) return limit;
  const fields = readFields(params["fields"]);
  if (isFailure(fields)) return fields;
  return inspectScheduler({ dbPath, entity, limit, fields, sanitize });
}

function given(value: unknown): unknown {
  return value === null || value === "" ? undefined : value;
}

function readLimit(value: unknown): number | Failure {
  if (value === undefined || value === null) return USUAL_LIMIT;
  const isText = typeof value === "string" && /^[1-9]\d{0,8}$/.test(value);
  const limit = isText ? Number(value) : value;
  if (typeof limit !== "number" || !Number.isSafeInteger(limit) || limit <= 0) {
    return invalidArgument("inspect limit must be a positive integer");
  }
  return Math.min(limit, MAX_LIMIT);
}

function readFields(value: unknown): readonly string[] | undefined | Failure {
  if (value === undefined || value === null) return undefined;
  if (typeof value === "string") {
    const names = value.split(",").map((name) => name.trim());
    const fields = names.filter((name) => name !== "");
    return fields.length === 0 ? undefined : fields;
  }
  if (!Array.isArray(value)) {
    return invalidArgument(
      "inspect fields must be a comma-delimited string or an array of field names",
    );
  }
  const wrong = value.findIndex((field) => typeof field !== "string" || field.trim() === "");
  if (wrong !== -1) return invalidArgument(`inspect fields[${wrong}] must be a non-empty string`);
  return value.map((field) => String(field).trim());
}

/** The table of each entity, and the column to sort by. */
const ENTITIES: ReadonlyMap<string, readonly [table: string, order: string]> = new Map([
  ["jobs", ["jobs", "created_at"]],
  ["runs", ["runs", "started_at"]],
  ["queue", ["job_dispatch_queue", "created_at"]],
  ["approvals", ["approvals", "requested_at"]],
]);

interface InspectOptions {
  /** The absolute path of an existing file. */
  readonly dbPath: string;
  readonly entity: string;
  readonly limit: number;
  readonly fields: readonly string[] | undefined;
  readonly sanitize: "none" | "basic";
}

/** Returns the rows, or a failure. */
async function inspectScheduler(options: InspectOptions): Promise<JsonRecord | Failure> {
  const { dbPath, entity, limit, fields, sanitize } = options;
  let rows: readonly JsonRecord[];
  try {
    const [table, order] = ENTITIES.get(entity) ?? [];
    const query = `SELECT * FROM ${table} ORDER BY ${order} DESC LIMIT ?`;
    rows = await readDatabase(dbPath, query, limit);
  } catch (error) {
    return failure("scheduler_error", `Scheduler database cannot be read: ${reasonOf(error)}`);
  }
  const items = rows.map((row) => {
    const masked = fields === undefined ? row : maskFields(row, fields);
    return sanitize === "basic" ? sanitizeValue(masked) : masked;
  });
  return { ok: true, target: "openclaw-scheduler", entity, count: items.length, items };
}

// CSI sequences, OSC sequences with either terminator, and two-character escapes.
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-_])/g;
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
const FENCES = /`{3,}/g;
const WORD_JOINER = "\u2060";

/**
 * Sanitizes texts and member names of an untrusted value for terminals and prompts: removes escape sequences and
 * control characters, and breaks up code fences.
 */
function sanitizeValue(value: unknown): unknown {
  if (typeof value === "string") return sanitizeText(value);
  if (Array.isArray(value)) return value.map(sanitizeValue);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [sanitizeText(key), sanitizeValue(member)]),
  );
}

/** Sanitizes one text. */
export function sanitizeText(text: string): string {
  return text
    .replace(ESCAPES, "")
    .replace(CONTROLS, "")
    .replace(FENCES, (fence) => [...fence].join(WORD_JOINER));
}

/** Selects the requested fields that exist, keeping names and nesting. */
function maskFields(row: JsonRecord, fields: readonly string[]): JsonRecord {
  let masked: JsonRecord = {};
  for (const field of fields) {
    const path = field.split(".");
    const value = reach(row, path);
    if (value !== undefined) masked = put(masked, path, value);
  }
  return masked;
}

function reach(value: unknown, path: readonly string[]): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return value;
  const record = typeof value === "string" ? parseJson(value) : value;
  return isRecord(record) && Object.hasOwn(record, key) ? reach(record[key], rest) : undefined;
}

function put(
  record: JsonRecord,
  [key = "", ...rest]: readonly string[],
  value: unknown,
): JsonRecord {
  if (rest.length === 0) return { ...record, [key]: value };
  const inner = memberOf(record, key);
  return { ...record, [key]: put(recordIn(inner), rest, value) };
}
