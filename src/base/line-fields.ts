/** The members of a log line that are the daemon's own, and what others may write beside them. */
import type { JsonRecord } from "./json-value.ts";

/** Members of every line, and those that say whose call it belongs to. */
const OWN_MEMBERS: ReadonlySet<string> = new Set([
  ...["level", "time", "message"],
  ...["endpoint", "agent_id", "request_id", "task_id", "trace_id"],
]);

/**
 * The fields of code that the daemon serves. One that bears the name of an own member gets a `_` behind it: twice
 * in a line, readers would take one of the two, and not all the same.
 */
export function besideOwn(fields: object, alsoOwn: readonly string[] = []): JsonRecord {
  const isOwn = (name: string): boolean => OWN_MEMBERS.has(name) || alsoOwn.includes(name);
  const isClear = !Object.keys(fields).some(isOwn);
  if (isClear) return fields as JsonRecord;
  const renamed = Object.entries(fields).map(([name, value]) => [
    isOwn(name) ? `${name}_` : name,
    value,
  ]);
  return Object.fromEntries(renamed);
}
