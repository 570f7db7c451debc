/**
 * JSON that others wrote: parsed, bounded in depth so that nothing later has to fear recursion,
 * free of the one member name that reaches an object's prototype, and frozen all the way down.
 */
import { reasonOf } from "../thrown.ts";

/** The value, or why the text has none. */
export type JsonDocument =
  | { readonly value: unknown; readonly fault?: undefined }
  | { readonly fault: string };

const MAX_DEPTH = 32;

/** Parses a text; the caller has bounded its length. */
export function parseBoundedJson(text: string): JsonDocument {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: `must be JSON: ${reasonOf(error)}` };
  }
  const fault = freezeBounded(value, MAX_DEPTH);
  return fault === undefined ? { value } : { fault };
}

function freezeBounded(value: unknown, depth: number): string | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  if (depth === 0) return `must not be nested deeper than ${MAX_DEPTH} levels`;
  for (const [key, member] of Object.entries(value)) {
    if (key === "__proto__") return 'must have no member "__proto__"';
    const fault = freezeBounded(member, depth - 1);
    if (fault !== undefined) return fault;
  }
  Object.freeze(value);
  return undefined;
}
