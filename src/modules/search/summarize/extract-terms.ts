/**
 * The terms of a sentence: its words in lower case, and for scripts that write no spaces its pairs
 * of characters. Words that hold sentences together say nothing about them.   AGTP "SUMMARIZE"
 */

const WORDS = /[\p{L}\p{N}][\p{L}\p{N}\p{M}]*/gu;
const UNSPACED =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
/** Of English, and the commonest of its neighbours; in long texts others are told by their number. */
const FUNCTION_WORDS: ReadonlySet<string> = new Set(
  [
    "in on at to of it is be as by or an if he we me my no so up us do am",
    "the and for with that this these those its from are was were has have had not but all any",
    "into what which who whom when where while how why than then there here they them their his",
    "her she him you your our ours will would can could may might must shall should been being",
    "also such only very more most some each other about after before over under between out off",
    "does did done just because during both few own same nor yet per via",
    "der die das und ist ein eine den dem des von mit auf im zu es",
    "le la les il et en du de des au une est dans que qui pour par sur",
    "el los las una del por con lo di da al",
  ].flatMap((line) => line.split(" ")),
);
const MIN_WORD_LENGTH = 2;
const MAX_WORD_LENGTH = 64;
/** Of one sentence; a longer one says no more about itself. */
const MAX_TERMS = 256;

/** Each term of a text once, at most 256. */
export function termsOf(text: string): ReadonlySet<string> {
  const terms = new Set<string>();
  for (const [word] of text.matchAll(WORDS)) {
    if (terms.size >= MAX_TERMS) break;
    if (UNSPACED.test(word)) addPairs(word, terms);
    else addWord(word, terms);
  }
  return terms;
}

function addWord(word: string, terms: Set<string>): void {
  if (word.length < MIN_WORD_LENGTH || word.length > MAX_WORD_LENGTH) return;
  const lower = word.toLowerCase();
  if (!FUNCTION_WORDS.has(lower)) terms.add(singular(lower));
}

/** A plural in "s" is about the same thing; nothing more is known of a language. */
function singular(word: string): string {
  return word.length > 3 && word.endsWith("s") && !word.endsWith("ss") ? word.slice(0, -1) : word;
}

function addPairs(run: string, terms: Set<string>): void {
  let before = "";
  for (const character of run) {
    if (terms.size >= MAX_TERMS) return;
    if (before !== "") terms.add(before + character);
    before = character;
  }
  if (terms.size === 0) terms.add(run);
}
