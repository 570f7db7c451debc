/**
 * SUMMARIZE: sentences of the sources, chosen and never rewritten, with what was read and how much
 * was left out. 422 for sources that are not read, and for parameters that mean nothing.
 * AGTP "SUMMARIZE"
 */

import type { TaskQueue } from "../../../base/task-queue.ts";
import { payerOf } from "../../../dispatch/rates/payer.ts";
import { sourceUnreadable } from "../../../dispatch/refusals/floor-refusals.ts";
import { type Refusal, rateLimited } from "../../../dispatch/refusals/refusal.ts";
import type { FloorMethod } from "../../../dispatch/routes/floor.ts";
import { floorResult } from "../../../dispatch/routes/floor-result.ts";
import type { RouteHandler } from "../../../dispatch/routes/route.ts";
import type { Call, HandlerSuccess } from "../../../handlers/handler.ts";
import { type Amount, type Extract, extractSummary } from "./extract-summary.ts";
import {
  BULLET,
  readSummaryRequest,
  SUMMARIZE_SCHEMA,
  type SummaryRequest,
} from "./summary-request.ts";
import {
  type InTurns,
  type ReadSources,
  readSources,
  type SourcePlaces,
} from "./summary-sources.ts";

/** The parts of SUMMARIZE. */
export interface SummarizeOptions {
  readonly places: SourcePlaces;
  readonly work: TaskQueue;
}

/** SUMMARIZE on "/". */
export function summarizeMethod(options: SummarizeOptions): FloorMethod {
  return { inputSchema: SUMMARIZE_SCHEMA, handler: summarizeHandler(options) };
}

function summarizeHandler({ places, work }: SummarizeOptions): RouteHandler {
  return async (call, exchange) => {
    const owner = payerOf(exchange);
    if (!work.hasRoom(owner)) return rateLimited("work", 1);
    const request = readSummaryRequest(call.input);
    const inTurns: InTurns = (steps) => work.pace(steps, owner, call.signal);
    const read = await readSources(call.input["source"], { call, places, inTurns });
    if (read.kind === "refusal") return read;
    const contents = read.sources.map(({ content }) => content);
    const options = { ...request.limits, focus: request.focus.join(" ") };
    const extract = await inTurns(extractSummary(contents, options));
    return answer(call, request, read, extract);
  };
}

const LONGEST_STOP = 8;
const STOP = /[\p{Sentence_Terminal}:;]["'”’»)\]]*$/u;

function answer(
  call: Call,
  { length, format, focus, notApplied }: SummaryRequest,
  { sources, hash }: ReadSources,
  extract: Extract,
): HandlerSuccess | Refusal {
  const whole = total(extract.amounts);
  if (whole.sentences === 0) return sourceUnreadable("the source has no sentence in it");
  const { sentences: chosen, isCut } = extract;
  const characters = chosen.reduce((sum, { text }) => sum + text.length, 0);
  const included: Amount = { sentences: isCut ? 0 : chosen.length, characters };
  const summary = write(extract, format);
  return floorResult(call, {
    summary,
    format,
    length: length ?? null,
    approach: "extractive",
    source_hash: hash,
    confidence: confidenceOf(extract, focus),
    included,
    left_out: {
      sentences: whole.sentences - included.sentences,
      characters: whole.characters - included.characters,
    },
    truncated: isCut,
    focus: focus.length === 0 ? null : { asked: focus, matched_sentences: extract.focused },
    sources: sources.map(({ reference, hash: sourceHash }, index) => ({
      kind: reference === undefined ? "inline" : "reference",
      ...(reference === undefined ? {} : { reference }),
      source_hash: sourceHash,
      sentences: extract.amounts[index]?.sentences ?? 0,
      characters: extract.amounts[index]?.characters ?? 0,
    })),
    source_length: sources.reduce((sum, source) => sum + source.length, 0),
    summary_length: typeof summary === "string" ? summary.length : characters,
    not_applied: notApplied,
  });
}

function total(amounts: readonly Amount[]): Amount {
  return {
    sentences: amounts.reduce((sum, amount) => sum + amount.sentences, 0),
    characters: amounts.reduce((sum, amount) => sum + amount.characters, 0),
  };
}

function write({ sentences }: Extract, format: SummaryRequest["format"]): unknown {
  switch (format) {
    case "prose":
      return sentences.reduce((whole, { text }) => joinProse(whole, text), "");
    case "bullets":
      return sentences.map(({ text }) => BULLET + text).join("\n");
    case "structured":
      return sentences.map(({ text, source, position }) => ({ text, source, position }));
  }
}

/** A text without a full stop, as the members of an object, gets a line of its own. */
function joinProse(whole: string, text: string): string {
  if (whole === "") return text;
  return whole + (STOP.test(whole.slice(-LONGEST_STOP)) ? " " : "\n") + text;
}

/**
 * The share of what the sources say that the summary says, in two digits; where it should be about
 * something that no sentence is about, half of that.
 */
function confidenceOf({ coverage, focused }: Extract, focus: readonly string[]): number {
  const isOff = focus.length > 0 && focused === 0;
  return Math.round(100 * coverage * (isOff ? 0.5 : 1)) / 100;
}
