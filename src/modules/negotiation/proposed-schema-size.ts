/**
 * Judges the size of a proposed schema, so that it can be looked into, and its values, which must
 * survive being written down again: finite numbers and well-formed text.
 */

const MAX_BYTES = 65_536;
/** Sixteen schemas inside each other are two levels each; their values have the rest. */
const MAX_NESTING = 64;

/** JSON writes half of a pair as an escape; an even number of backslashes before it are others. */
const LONE_SURROGATE = /(?<!\\)(?:\\\\)*\\ud[89a-f]/;

/** The count that is exceeded, or what JSON cannot hold; looks at no more than it allows. */
export function findProposedExcess(schema: object): string | undefined {
  const excess = findLargeOrDeep(schema);
  if (excess !== undefined) return excess;
  const text = JSON.stringify(schema);
  if (Buffer.byteLength(text) > MAX_BYTES) return tooLarge();
  return LONE_SURROGATE.test(text)
    ? "has half of a surrogate pair, expected text that is Unicode"
    : undefined;
}

function findLargeOrDeep(schema: object): string | undefined {
  let level: readonly unknown[] = [schema];
  let size = 0;
  for (let depth = 0; level.length > 0; depth += 1) {
    const next: unknown[] = [];
    for (const value of level) {
      if (typeof value === "string") size += value.length;
      if (typeof value === "number" && !Number.isFinite(value)) {
        return "has a number that is too large, expected one that fits 64 bits";
      }
      if (typeof value !== "object" || value === null) continue;
      if (depth === MAX_NESTING)
        return `is nested too deeply, expected at most ${MAX_NESTING} levels`;
      // Listing names takes a third of what looking up a million members does.
      size += Array.isArray(value) ? value.length : Object.keys(value).length;
      if (size > MAX_BYTES) return tooLarge();
      for (const member of Object.values(value)) next.push(member);
    }
    if (size > MAX_BYTES) return tooLarge();
    level = next;
  }
  return undefined;
}

function tooLarge(): string {
  return `is too large, expected at most ${MAX_BYTES} bytes of JSON`;
}
