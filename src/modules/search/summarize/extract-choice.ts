/**
 * Chooses which of the best sentences become the summary: one after the other, each for what it
 * says that the earlier ones do not, and never more than was asked for.   AGTP "SUMMARIZE"
 */
import type { RankedSentence, RankedSentences } from "./extract-ranking.ts";

/** The bounds of a summary's length. */
export interface SummaryLimits {
  readonly sentences: number;
  /** The most characters of the summary as it is written down. */
  readonly characters: number;
  /** The number of characters before each sentence, and between two. */
  readonly before: number;
  readonly between: number;
}

/** The chosen sentences. */
export interface Choice {
  /** In the order of the sources. */
  readonly sentences: readonly RankedSentence[];
  /** The only sentence is the beginning of one, because none is short enough. */
  readonly isCut: boolean;
}

/** The worth of a sentence that says nothing new. */
const KNOWN_SHARE = 0.3;

/** The longest sentence that a summary can hold. */
export function longestSentence({ characters, before }: SummaryLimits): number {
  return Math.max(0, characters - before);
}

/** Chooses within the limits; others may have their turn before each sentence. */
export function* chooseSentences(
  { fitting, best }: RankedSentences,
  limits: SummaryLimits,
): Generator<undefined, Choice> {
  if (fitting.length === 0) {
    const sentences = cut(best, longestSentence(limits));
    return { sentences, isCut: sentences.length > 0 };
  }
  const left = new Set(fitting);
  const known = new Set<number>();
  const chosen: RankedSentence[] = [];
  let room = limits.characters;
  while (chosen.length < limits.sentences) {
    const between = chosen.length === 0 ? 0 : limits.between;
    yield;
    const next = mostTelling(left, known, room - limits.before - between);
    if (next === undefined) break;
    left.delete(next);
    for (const id of next.terms) known.add(id);
    chosen.push(next);
    room -= limits.before + between + next.text.length;
  }
  return { sentences: chosen.sort((a, b) => a.index - b.index), isCut: false };
}

/** Sets keep their order, so that of equals the better ranked one is taken. */
function mostTelling(
  left: ReadonlySet<RankedSentence>,
  known: ReadonlySet<number>,
  room: number,
): RankedSentence | undefined {
  let best: RankedSentence | undefined;
  let highest = Number.NEGATIVE_INFINITY;
  for (const sentence of left) {
    if (sentence.text.length > room) continue;
    const worth = sentence.score * (KNOWN_SHARE + (1 - KNOWN_SHARE) * novelty(sentence, known));
    if (worth > highest) [best, highest] = [sentence, worth];
  }
  return best;
}

function novelty({ terms }: RankedSentence, known: ReadonlySet<number>): number {
  if (terms.length === 0) return 0;
  return terms.filter((id) => !known.has(id)).length / terms.length;
}

/** At a space where there is one, and never within a character. */
function cut(sentence: RankedSentence | undefined, length: number): readonly RankedSentence[] {
  if (sentence === undefined || length === 0) return [];
  const { text } = sentence;
  const begun = text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
  const space = begun.lastIndexOf(" ");
  const whole = text[begun.length] === " " || space <= 0 ? begun : begun.slice(0, space);
  return whole === "" ? [] : [{ ...sentence, text: whole.trimEnd() }];
}
