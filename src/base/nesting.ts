/**
 * The depth of a value: code that walks it later need not fear for the stack.
 */

import { isStructure, type JsonRecord } from "./json-value.ts";

/** More than any message or manifest needs. */
export const MAX_DEPTH = 64;

const NONE: ReadonlySet<string> = new Set();

/** Tells whether parsed JSON is nested too deeply, not counting members of some names. */
export function isTooDeep(
  value: unknown,
  maxDepth: number = MAX_DEPTH,
  passedOver: ReadonlySet<string> = NONE,
): boolean {
  return isStructure(value) && isDeeperThan(value, maxDepth, passedOver);
}

/** It calls itself no oftener than the bound says. */
function isDeeperThan(value: object, depth: number, passedOver: ReadonlySet<string>): boolean {
  if (depth <= 0) return true;
  if (Array.isArray(value)) {
    return value.some((one) => isStructure(one) && isDeeperThan(one, depth - 1, passedOver));
  }
  // To list the entries takes twice as long with many members, and five times with few.
  for (const name of Object.keys(value)) {
    const member = (value as JsonRecord)[name];
    if (!isStructure(member) || passedOver.has(name)) continue;
    if (isDeeperThan(member, depth - 1, passedOver)) return true;
  }
  return false;
}
