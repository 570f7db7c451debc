/** The small rules that merging is made of: which of two values counts, and which of two objects. */
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";

/** The narrower value where there is one; null stands for "not said". */
export function pick<T>(narrow: T | null | undefined, broad: T | null | undefined): T | null {
  return narrow ?? broad ?? null;
}

/** The members of both, the narrower first; null where there are none. */
export function mergeMaps(narrow: unknown, broad: unknown): JsonRecord | null {
  const merged = { ...(isRecord(broad) ? broad : {}), ...(isRecord(narrow) ? narrow : {}) };
  return Object.keys(merged).length > 0 ? merged : null;
}

/** A demand of a broader scope cannot be waived by a narrower one. */
export function pickRequired(
  narrow: boolean | null | undefined,
  broad: boolean | null | undefined,
): boolean | null {
  return broad === true ? true : pick(narrow, broad);
}

/** A broader scope's "deny" cannot be relaxed to "warn". */
export function pickOnError(
  narrow: "deny" | "warn" | null | undefined,
  broad: "deny" | "warn" | null | undefined,
): "deny" | "warn" | null {
  return broad === "deny" ? "deny" : pick(narrow, broad);
}
