/**
 * Brings the forms of an English word together: "reservations", "reserving" and "reserve" are
 * compared as "reserv". Words of other languages mostly pass unchanged, and what is done to a word
 * of a query is done to the same word of an entry.
 */

const ENGLISH = /^[a-z]{4,}$/;
const MIN_STEM_LENGTH = 3;

/** Endings that are taken off one after the other, each with what stays and how long it must be. */
const ENDINGS: readonly (readonly [ending: RegExp, left: string, minLength: number])[] = [
  [/ies$/, "y", 2],
  [/(?<=x|ch|sh|ss|z)es$/, "", 2],
  [/(?<![sui])s$/, "", 3],
  [/ability$/, "abl", 4],
  [/able$/, "abl", 4],
  [/ations?$/, "", 4],
  [/ments?$/, "", 3],
  [/ings?$/, "", MIN_STEM_LENGTH],
  [/ed$/, "", MIN_STEM_LENGTH],
];

const DOUBLED = /([bdgklmnprt])\1$/;

/** The stem of a lower-case word. */
export function stem(word: string): string {
  if (!ENGLISH.test(word)) return word;
  let left = word;
  for (const [ending, replacement, minLength] of ENDINGS) {
    const shorter = left.replace(ending, replacement);
    if (shorter === left || shorter.length < minLength || !/[aeiouy]/.test(shorter)) continue;
    left = shorter;
  }
  if (left.length < word.length && left.length > MIN_STEM_LENGTH) {
    left = left.replace(DOUBLED, "$1");
  }
  return left.length > 4 && left.endsWith("e") ? left.slice(0, -1) : left;
}
