/**
 * Extracts a summary: whole sentences of the sources, those with most of the sources' content, or most about the
 * focus. Nothing is rewritten. The same sources give the same summary, in linear time; the caller decides about
 * pauses.   AGTP "SUMMARIZE"
 */

import { isRecord } from "../../../base/json-value.ts";
import type { Paced } from "../../../base/paced.ts";
import { type RankedSentence, type RankedSentences, Ranking } from "./extract-ranking.ts";
import { createSentenceSplitter } from "./extract-sentences.ts";

export interface ExtractOptions extends SummaryLimits {
  /** The wanted subject; empty for everything. */
  readonly focus: string;
}

/** A number of sentences and their characters. */
export interface Amount {
  readonly sentences: number;
  readonly characters: number;
}

/** A summary with facts about its sources. */
export interface Extract extends Choice {
  /** The size of each source. */
  readonly amounts: readonly Amount[];
  /** The share of the sources' content that the summary covers, from 0 to 1. */
  readonly coverage: number;
  /** The number of sentences about the focus. */
  readonly focused: number;
}

/** Extracts a summary; yields before each step that may take long. */
export function* extractSummary(
  sources: readonly ExtractSource[],
  options: ExtractOptions,
): Paced<Extract> {
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

/** The share of a cut sentence that is left; 1 for whole ones. */
function shareOfCut({ isCut, sentences }: Choice, { best }: RankedSentences): number {
  const [begun] = sentences;
  if (!isCut || begun === undefined || best === undefined) return 1;
  return begun.text.length / best.text.length;
}

/** A source: a text, or any other value of parsed JSON. */
type ExtractSource = unknown;

/** Number of short list values on a line. */
const LINE_ITEMS = 16;
const SHORT = 80;
/** A sentence end; a full stop within a number, a version or a name is none. */
const SENTENCE_END = /[.!?](?:\s|$)|[。！？।؟]/u;

type Part = { readonly name: string; readonly value: unknown };

function* textsOf(source: ExtractSource): Generator<string> {
  // Iterative, since a value may be nested more deeply than the stack allows.
  const pending: Part[] = [{ name: "", value: source }];
  for (let part = pending.pop(); part !== undefined; part = pending.pop()) {
    const { name, value } = part;
    if (typeof value === "string" && !isShort(value)) yield value;
    else if (isScalar(value)) yield named(name, [value]);
    else if (Array.isArray(value)) {
      yield* linesOf(name, value.filter(isShort));
      pushAll(
        pending,
        value.filter(isLong).map((item) => ({ name, value: item })),
      );
    } else if (isRecord(value)) {
      const members = Object.entries(value).map(([member, item]) => ({
        name: member,
        value: item,
      }));
      const short = members.filter((member) => isShort(member.value));
      if (short.length > 0)
        yield short.map((member) => named(member.name, [member.value])).join("; ");
      pushAll(
        pending,
        members.filter((member) => isLong(member.value)),
      );
    }
  }
}

/** Pushes the parts in reverse, so that the first is popped first. */
function pushAll(pending: Part[], parts: readonly Part[]): void {
  for (const part of parts.toReversed()) pending.push(part);
}

function* linesOf(name: string, values: readonly unknown[]): Generator<string> {
  for (let at = 0; at < values.length; at += LINE_ITEMS) {
    yield named(name, values.slice(at, at + LINE_ITEMS));
  }
}

function named(name: string, values: readonly unknown[]): string {
  const list = values.join(", ");
  return name === "" ? list : `${name}: ${list}`;
}

function isScalar(value: unknown): boolean {
  return ["string", "number", "boolean"].includes(typeof value);
}

/** True for a value that is no sentence of its own. */
function isShort(value: unknown): boolean {
  if (typeof value === "string") return value.length <= SHORT && !SENTENCE_END.test(value);
  return isScalar(value);
}

function isLong(value: unknown): boolean {
  return value !== null && value !== undefined && !isShort(value);
}

/** The bounds of a summary's length. */
export interface SummaryLimits {
  readonly sentences: number;
  /** Maximal length of the formatted summary in characters. */
  readonly characters: number;
  /** Characters before each sentence, and between two. */
  readonly before: number;
  readonly between: number;
}

interface Choice {
  /** In source order. */
  readonly sentences: readonly RankedSentence[];
  /** True if the only sentence is the beginning of one, since none fits. */
  readonly isCut: boolean;
}

/** The weight of a sentence without new content. */
const KNOWN_SHARE = 0.3;

/** Maximal length of a sentence that fits a summary. */
function longestSentence({ characters, before }: SummaryLimits): number {
  return Math.max(0, characters - before);
}

/** Chooses sentences within the limits; pauses before each. */
function* chooseSentences(
  { fitting, best }: RankedSentences,
  limits: SummaryLimits,
): Paced<Choice> {
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

/** Returns the most telling sentence; a set keeps its order, so the better ranked of equal ones wins. */
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

/** Cuts a sentence, at a space if there is one, and never within a character. */
function cut(sentence: RankedSentence | undefined, length: number): readonly RankedSentence[] {
  if (sentence === undefined || length === 0) return [];
  const { text } = sentence;
  const begun = text.slice(0, length).replace(/[\uD800-\uDBFF]$/, "");
  const space = begun.lastIndexOf(" ");
  const whole = text[begun.length] === " " || space <= 0 ? begun : begun.slice(0, space);
  return whole === "" ? [] : [{ ...sentence, text: whole.trimEnd() }];
}
