/**
 * The values a catalog is made of, read from parsed JSON: each reader answers with the value, or
 * with an empty one and a problem, so that one pass over a file finds everything.
 */
import { describeValue, isRecord } from "../base/json-value.ts";
import type { Findings } from "./findings.ts";

const MAX_VERSION_LENGTH = 64;
const VERSION =
  /^(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)\.(?:0|[1-9]\d*)(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/;

/** A semantic version.   AGTP-API §4.1 */
export function readVersion(value: unknown, key: string, findings: Findings): string | undefined {
  if (typeof value === "string" && value.length <= MAX_VERSION_LENGTH && VERSION.test(value)) {
    return value;
  }
  findings.error(key, `${describeValue(value)}, expected a version such as "1.0.0"`);
  return undefined;
}

/** A text that is not blank. */
export function readText(value: unknown, key: string, findings: Findings): string {
  if (typeof value === "string" && value.trim() !== "") return value;
  findings.error(key, `${describeValue(value)}, expected a sentence`);
  return "";
}

/** The members of an object, in order. */
export function readMembers(
  value: unknown,
  key: string,
  limit: number,
  findings: Findings,
): readonly (readonly [string, unknown])[] {
  if (!isRecord(value)) {
    findings.error(key, `${describeValue(value)}, expected an object`);
    return [];
  }
  const members = Object.entries(value);
  if (members.length <= limit) return members;
  findings.error(key, `has ${members.length} members, expected at most ${limit}`);
  return [];
}
