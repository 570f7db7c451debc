/**
 * Converts a text to comparable words: letters and digits of any script in one spelling, without stop words. Scripts
 * without spaces are taken in pairs of characters. No text is refused, and the time is linear in its length.
 */
import { flatText } from "../../base/kept-text.ts";

/** Longer words are cut to this length. */
const MAX_WORD_LENGTH = 40;

const UNSPACED =
  "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}";
const RUNS = new RegExp(`[${UNSPACED}]+|(?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}])+`, "gu");
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, "u");
/** Combining accents of Latin, Greek and Cyrillic letters. */
const ACCENTS = /[\u0300-\u036f]/gu;
const CAMEL_CASE = /(\p{Ll}|\p{N})(\p{Lu})/gu;

const SILENT: ReadonlySet<string> = new Set(
  (
    "a about again also an and another any are as at be been being but by can could did do does for from had has have having " +
    "he her here him his how i if in into is it its itself let like may me might my no not of off " +
    "on one or other our out over please shall she should so some than that the their them then there these " +
    "they this those to too up us use using very want wants was we were what when where which " +
    "while who whom whose why will with would you your yours need needs am im id"
  ).split(" "),
);

/** ASCII, which nearly all texts are, is read much faster. */
const PLAIN = /^[\0-\x7f]*$/;

/** Returns the words of a text in order, with repetitions. */
export function wordsOf(text: string): string[] {
  return PLAIN.test(text) ? plainWordsOf(text) : anyWordsOf(text);
}

/** Splits an ASCII text. */
function plainWordsOf(text: string): string[] {
  const words: string[] = [];
  let start = 0;
  let isBetween = true;
  let mayBreak = false;
  const end = (at: number): void => {
    const run = text.slice(start, at).toLowerCase();
    if (!SILENT.has(run)) words.push(stemOf(run.slice(0, MAX_WORD_LENGTH)));
  };
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    const isUpper = code >= 65 && code <= 90;
    const isLower = (code >= 97 && code <= 122) || (code >= 48 && code <= 57);
    if (!isBetween && !(isLower || (isUpper && !mayBreak))) {
      end(at);
      isBetween = true;
    }
    if (isBetween && (isUpper || isLower)) {
      start = at;
      isBetween = false;
    }
    mayBreak = isLower;
  }
  if (!isBetween) end(text.length);
  return words;
}

function anyWordsOf(text: string): string[] {
  const folded = text
    .replace(CAMEL_CASE, "$1 $2")
    .normalize("NFKD")
    .replace(ACCENTS, "")
    .normalize("NFC")
    .toLowerCase();
  const words: string[] = [];
  for (const [run] of folded.matchAll(RUNS)) {
    if (IS_UNSPACED.test(run)) words.push(...pairsOf(run));
    else if (!SILENT.has(run)) words.push(stemOf(run.slice(0, MAX_WORD_LENGTH)));
  }
  return words;
}

/** Size of the stem cache; texts have few distinct words. */
const MAX_STEMS = 16_384;
const stems = new Map<string, string>();

function stemOf(run: string): string {
  const known = stems.get(run);
  if (known !== undefined) return known;
  if (stems.size === MAX_STEMS) stems.clear();
  const stemmed = flatText(stem(run));
  stems.set(flatText(run), stemmed);
  return stemmed;
}

/** "予約する" becomes "予約", "約す", "する"; a single character stands for itself. */
function pairsOf(run: string): string[] {
  const characters = [...run];
  if (characters.length < 2) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

const ENGLISH = /^[a-z]{4,}$/;
const MIN_STEM_LENGTH = 3;

/** Endings removed one after the other, each with its replacement and the minimal length that must remain. */
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

/**
 * Reduces the forms of an English word to one: "reservations", "reserving" and "reserve" become "reserv". Words of
 * other languages mostly stay unchanged, and a query and an entry are treated alike.
 */
function stem(word: string): string {
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
