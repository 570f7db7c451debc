/**
 * Texts of a stranger's database, made safe for a terminal and for a prompt: no escape sequences, no
 * control characters, and no fence that could end the reader's own.
 */
import { isRecord } from "../../../base/json-value.ts";

// The CSI form, the OSC form with either end, and two-character escapes.
const ESCAPES = /\u001b(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[@-_])/g;
const CONTROLS = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f]/g;
const WORD_JOINER = "\u2060";

/** A value with every text in it made safe, the names of its members too. */
export function sanitizeValue(value: unknown): unknown {
  if (typeof value === "string") return sanitizeText(value);
  if (Array.isArray(value)) return value.map(sanitizeValue);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [sanitizeText(key), sanitizeValue(member)]),
  );
}

/** One text. */
export function sanitizeText(text: string): string {
  return text
    .replace(ESCAPES, "")
    .replace(CONTROLS, "")
    .replaceAll("```", ["`", "`", "`"].join(WORD_JOINER));
}
