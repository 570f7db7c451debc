/**
 * Asks a large index some questions before anybody else does: code that has run is several times as
 * quick as code that has not, and the first who asks should not pay for that.
 */
import type { Paced } from "../../base/paced.ts";
import { bestHits } from "./best-hits.ts";
import { weighWords } from "./confidence.ts";
import { questionWork, scoreWords } from "./scores.ts";
import { frequencyOf, type SearchIndex } from "./search-index.ts";
import { wordsOf } from "./words.ts";

/** A smaller index is searched in no time. */
const LARGE = 2000;
const QUESTIONS = 24;
const WORDS = 6;
const MOST = 10;

/** Questions in the words of the entries themselves, as they are, begun and misspelt. */
export function* warmUp(index: SearchIndex): Paced<void> {
  const { entries, methods } = index;
  if (entries.length < LARGE) return;
  for (let round = 0; round < QUESTIONS; round += 1) {
    const entry = entries[Math.floor((round * entries.length) / QUESTIONS)];
    const words = wordsOf(entry?.texts.intent ?? "").slice(0, WORDS);
    const asked = weighWords(
      words.map((word) => changed(word, round % 3)),
      {
        frequencyOf: (word) => frequencyOf(index, word),
        total: entries.length,
        isMethod: (word) => methods.has(word),
      },
    );
    const scores = yield* scoreWords(index, asked, questionWork());
    yield* bestHits([{ index, scores, accepts: () => true }], MOST, 0);
  }
}

function changed(word: string, how: number): string {
  if (how === 0) return word;
  return how === 1 ? word.slice(0, 3) : `${word.slice(0, 2)}${word.slice(3)}`;
}
