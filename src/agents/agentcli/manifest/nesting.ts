/**
 * How deeply a value is nested: what walks a manifest later may then be written without fear for the
 * stack.
 */

/** More than any field of a manifest needs. */
export const MAX_DEPTH = 64;

/** Whether a value of parsed JSON is nested deeper than that; looks at it level by level. */
export function isTooDeep(value: unknown, maxDepth: number = MAX_DEPTH): boolean {
  let level: readonly object[] = isObject(value) ? [value] : [];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > maxDepth) return true;
    level = level.flatMap((one) => Object.values(one).filter(isObject));
  }
  return false;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
