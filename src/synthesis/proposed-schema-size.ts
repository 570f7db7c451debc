/**
 * Whether a proposed schema is of a size that can be looked into, and made of values that survive
 * being written down again: finite numbers and well-formed text.
 */

const MAX_BYTES = 65_536;
/** Sixteen schemas inside each other are two levels each; their values have the rest. */
const MAX_NESTING = 64;

const TOO_LARGE = `is too large, expected at most ${MAX_BYTES} bytes of JSON`;
const LONE_SURROGATE = /\p{Surrogate}/u;

/** What there is too much of, or what JSON cannot hold; looks at no more than it allows. */
export function findProposedExcess(schema: object): string | undefined {
  const pending: { readonly value: unknown; readonly level: number }[] = [
    { value: schema, level: 1 },
  ];
  let size = 0;
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const { value, level } = next;
    if (typeof value === "string") size += value.length;
    size += 1;
    if (size > MAX_BYTES) return TOO_LARGE;
    if (typeof value === "string" && LONE_SURROGATE.test(value)) return notText();
    if (typeof value === "number" && !Number.isFinite(value)) {
      return "has a number that is too large, expected one that fits 64 bits";
    }
    if (typeof value !== "object" || value === null) continue;
    if (level > MAX_NESTING) return `is nested too deeply, expected at most ${MAX_NESTING} levels`;
    const names = Array.isArray(value) ? [] : Object.keys(value);
    const members: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
    for (const name of names) size += name.length;
    if (size + members.length > MAX_BYTES) return TOO_LARGE;
    if (names.some((name) => LONE_SURROGATE.test(name))) return notText();
    for (const member of members) pending.push({ value: member, level: level + 1 });
  }
  return Buffer.byteLength(JSON.stringify(schema)) > MAX_BYTES ? TOO_LARGE : undefined;
}

function notText(): string {
  return "has half of a surrogate pair, expected text that is Unicode";
}
