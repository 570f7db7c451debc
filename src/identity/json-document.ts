/**
 * Parses JSON from others: bounded in depth, so that later code may recurse, without values that
 * have no canonical form or the member name that reaches an object's prototype, and deeply
 * frozen.   RFC 8785 §3.1, RFC 7493
 */
import { hasLoneSurrogate, quoteValue } from "../base/json-value.ts";
import { findRepeatedMember } from "../base/repeated-member.ts";
import { reasonOf } from "../base/thrown.ts";

/** The value, or the reason the text is refused. */
export type JsonDocument =
  | { readonly value: unknown; readonly fault?: undefined }
  | { readonly fault: string };

const MAX_DEPTH = 32;

/** Parses a text whose length the caller has bounded. */
export function parseBoundedJson(text: string): JsonDocument {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return { fault: `must be JSON: ${reasonOf(error)}` };
  }
  const fault = freezeBounded(value, MAX_DEPTH);
  if (fault !== undefined) return { fault };
  const repeated = findRepeatedMember(text);
  if (repeated === undefined) return { value };
  return { fault: `must not have the member ${quoteValue(repeated)} twice in one object` };
}

function freezeBounded(value: unknown, depth: number): string | undefined {
  if (typeof value !== "object" || value === null) return findScalarFault(value);
  if (depth === 0) return `must not be nested deeper than ${MAX_DEPTH} levels`;
  if (Array.isArray(value)) return freezeList(value, depth);
  for (const [key, member] of Object.entries(value)) {
    if (key === "__proto__") return 'must have no member "__proto__"';
    const fault = findScalarFault(key) ?? freezeBounded(member, depth - 1);
    if (fault !== undefined) return fault;
  }
  Object.freeze(value);
  return undefined;
}

/** A loop of its own, because items have no names to check, which took as long as everything else. */
function freezeList(items: readonly unknown[], depth: number): string | undefined {
  for (const item of items) {
    const fault = freezeBounded(item, depth - 1);
    if (fault !== undefined) return fault;
  }
  Object.freeze(items);
  return undefined;
}

function findScalarFault(value: unknown): string | undefined {
  if (typeof value === "number" && !Number.isFinite(value)) {
    return "must have no number beyond the range of double precision";
  }
  if (typeof value === "string" && hasLoneSurrogate(value)) {
    return "must have no text with half of a surrogate pair";
  }
  return undefined;
}
