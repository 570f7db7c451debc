/**
 * From a text to the words that are compared: letters and digits of any script, folded to one
 * spelling, without the words that say nothing. Scripts that write no spaces are taken in pairs of
 * characters. No text is refused, and each costs time in proportion to its length.
 */
import { stem } from "./stem.ts";

/** Longer runs of letters are compared by their beginning. */
const MAX_WORD_LENGTH = 40;

const UNSPACED =
  "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}";
const RUNS = new RegExp(`[${UNSPACED}]+|(?:(?![${UNSPACED}])[\\p{L}\\p{N}\\p{M}])+`, "gu");
const IS_UNSPACED = new RegExp(`^[${UNSPACED}]`, "u");
/** The accents of Latin, Greek and Cyrillic, once they stand apart from their letters. */
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

/** The words of a text, in order, repeated as they are. */
export function wordsOf(text: string): string[] {
  const folded = text
    .replace(CAMEL_CASE, "$1 $2")
    .normalize("NFKD")
    .replace(ACCENTS, "")
    .normalize("NFC")
    .toLowerCase();
  const words: string[] = [];
  for (const [run] of folded.matchAll(RUNS)) {
    if (IS_UNSPACED.test(run)) words.push(...pairsOf(run));
    else if (!SILENT.has(run)) words.push(stem(run.slice(0, MAX_WORD_LENGTH)));
  }
  return words;
}

/** "予約する" is "予約", "約す", "する"; a single character stands for itself. */
function pairsOf(run: string): string[] {
  const characters = [...run];
  if (characters.length < 2) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}
