/**
 * Extracts a summary: whole sentences of the sources, those that say most of what the sources say,
 * or most about what is asked for. Nothing is written anew. The same sources give the same summary,
 * in time proportional to their size; whoever runs it decides when it pauses.   AGTP "SUMMARIZE"
 */
import {
  type Choice,
  chooseSentences,
  longestSentence,
  type SummaryLimits,
} from "./extract-choice.ts";
import { type RankedSentences, Ranking } from "./extract-ranking.ts";
import { createSentenceSplitter } from "./extract-sentences.ts";
import { type ExtractSource, textsOf } from "./extract-texts.ts";

/** The summary that is asked for. */
export interface ExtractOptions extends SummaryLimits {
  /** The subject of it; empty for everything. */
  readonly focus: string;
}

/** Sentences, and how many characters they have. */
export interface Amount {
  readonly sentences: number;
  readonly characters: number;
}

/** A summary, and what it was made from. */
export interface Extract extends Choice {
  /** The texts of each source. */
  readonly amounts: readonly Amount[];
  /** The share of the sources' content that the summary has, from 0 to 1. */
  readonly coverage: number;
  /** The number of sentences about the focus. */
  readonly focused: number;
}

/** Yields often: before anything that may take long, and whatever comes of it. */
export function* extractSummary(
  sources: readonly ExtractSource[],
  options: ExtractOptions,
): Generator<undefined, Extract> {
  const split = createSentenceSplitter();
  const ranking = new Ranking(options.focus);
  const amounts: Amount[] = [];
  for (const [source, content] of sources.entries()) {
    const amount = { sentences: 0, characters: 0 };
    for (const text of textsOf(content)) {
      for (const sentence of split(text)) {
        yield;
        if (sentence === undefined) continue;
        ranking.add({ text: sentence, source, position: amount.sentences });
        amount.sentences += 1;
        amount.characters += sentence.length;
      }
    }
    amounts.push(amount);
  }
  const ranked = yield* ranking.rank(longestSentence(options));
  yield;
  const choice = yield* chooseSentences(ranked, options);
  const coverage = ranking.coverageOf(choice.sentences) * shareOfCut(choice, ranked);
  return { ...choice, amounts, coverage, focused: ranking.focused };
}

/** The beginning of a sentence says no more than its share of it. */
function shareOfCut({ isCut, sentences }: Choice, { best }: RankedSentences): number {
  const [begun] = sentences;
  if (!isCut || begun === undefined || best === undefined) return 1;
  return begun.text.length / best.text.length;
}
