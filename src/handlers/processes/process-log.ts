/** Lines that the daemon logs for a process: under the call that it is about, or under its own name. */
import { isRecord, type JsonRecord } from "../../base/json-value.ts";
import type { CallLog } from "../handler.ts";
import type { PendingCalls } from "./pending-calls.ts";
import type { ProcessLog } from "./process-call.ts";

/** Where the lines of one process go. */
export interface LinePlace {
  readonly settings: { readonly name: string };
  readonly log: ProcessLog;
  readonly pid: number | undefined;
}

const MAX_MESSAGE = 8_192;

/** Members of every line, which no process may write over. */
const OURS: ReadonlySet<string> = new Set([
  ...["level", "time", "event", "message", "process", "pid"],
  ...["endpoint", "agent_id", "request_id", "task_id", "trace_id"],
]);

/** Writes a line that a process wants to be logged. */
export function writeProcessLog(
  { call, level, message, fields }: JsonRecord,
  calls: Pick<PendingCalls, "unanswered">,
  { settings, log, pid }: LinePlace,
): void {
  const text = typeof message === "string" ? message : JSON.stringify(message ?? "");
  const line = { event: "process-log", process: settings.name, pid, ...fieldsOf(fields) };
  write(calls.unanswered(call)?.log ?? log, level, line, text.slice(0, MAX_MESSAGE));
}

function fieldsOf(fields: unknown): JsonRecord {
  if (!isRecord(fields)) return {};
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !OURS.has(name)));
}

/** By the names that logs of other languages have as well. */
function write(
  log: ProcessLog & Partial<CallLog>,
  level: unknown,
  fields: object,
  message: string,
): void {
  switch (level) {
    case "trace":
    case "debug":
      log.debug?.(fields, message);
      break;
    case "warn":
    case "warning":
      log.warn(fields, message);
      break;
    case "error":
    case "critical":
    case "fatal":
      log.error(fields, message);
      break;
    default:
      log.info(fields, message);
  }
}
