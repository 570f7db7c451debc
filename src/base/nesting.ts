/** Bounds the depth of values, so that later code may traverse them recursively. */

import { isStructure, type JsonRecord } from "./json-value.ts";

/** The maximum depth, more than any message or manifest needs. */
export const MAX_DEPTH = 64;

const NONE: ReadonlySet<string> = new Set();

/** Tells whether parsed JSON is nested too deeply, apart from members of some names. */
export function isTooDeep(
  value: unknown,
  maxDepth: number = MAX_DEPTH,
  passedOver: ReadonlySet<string> = NONE,
): boolean {
  return isStructure(value) && isDeeperThan(value, maxDepth, passedOver);
}

/** The recursion is limited by the bound itself. */
function isDeeperThan(value: object, depth: number, passedOver: ReadonlySet<string>): boolean {
  if (depth <= 0) return true;
  if (Array.isArray(value)) {
    return value.some((one) => isStructure(one) && isDeeperThan(one, depth - 1, passedOver));
  }
  // Listing the entries takes twice as long with many members, and five times with few.
  for (const name of Object.keys(value)) {
    const member = (value as JsonRecord)[name];
    if (!isStructure(member) || passedOver.has(name)) continue;
    if (isDeeperThan(member, depth - 1, passedOver)) return true;
  }
  return false;
}
