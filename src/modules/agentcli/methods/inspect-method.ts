/**
 * `agentcli.inspect`: its arguments are judged in a fixed order, the first fault being the answer.
 * agentcli protocol "agentcli.inspect"
 */
import { statSync } from "node:fs";
import { resolve } from "node:path";
import type { JsonRecord } from "../../../base/json-value.ts";
import { type Failure, invalidArgument, isFailure } from "../failure.ts";
import { inspectScheduler, isEntity } from "../scheduler/inspect.ts";
import type { MethodContext } from "./method.ts";

const USUAL_LIMIT = 20;
const MAX_LIMIT = 10_000;

/** Reads rows. */
export async function inspectMethod(
  params: JsonRecord,
  { world, defaults }: MethodContext,
): Promise<JsonRecord | Failure> {
  const entity = given(params["entity"]) ?? "jobs";
  if (typeof entity !== "string" || !isEntity(entity)) {
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

function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
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
