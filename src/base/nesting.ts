/**
 * How deeply a value is nested: what walks it later may then be written without fear for the stack.
 */

/** More than any message or manifest needs. */
export const MAX_DEPTH = 64;

const NONE: ReadonlySet<string> = new Set();

/** Tells whether parsed JSON is nested too deeply, not counting members of some names. */
export function isTooDeep(
  value: unknown,
  maxDepth: number = MAX_DEPTH,
  passedOver: ReadonlySet<string> = NONE,
): boolean {
  let level: readonly object[] = isObject(value) ? [value] : [];
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > maxDepth) return true;
    level = level.flatMap((one) => membersOf(one, passedOver).filter(isObject));
  }
  return false;
}

function membersOf(value: object, passedOver: ReadonlySet<string>): readonly unknown[] {
  if (passedOver.size === 0 || Array.isArray(value)) return Object.values(value);
  return Object.entries(value).flatMap(([name, member]) => (passedOver.has(name) ? [] : [member]));
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
