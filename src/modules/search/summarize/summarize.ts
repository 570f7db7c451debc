/**
 * SUMMARIZE: sentences of the sources, chosen and never rewritten, with the sizes of the sources and the share left
 * out. 422 for refused sources and invalid parameters.
 * AGTP "SUMMARIZE"
 */
import type { JsonRecord } from "../../../base/json-value.ts";
import type { Drive } from "../../../base/paced.ts";
import type { TaskQueue } from "../../../base/task-queue.ts";
import { payerOf } from "../../../dispatch/rates/rates.ts";
import { sourceUnreadable } from "../../../dispatch/refusals/floor-refusals.ts";
import { type Refusal, rateLimited } from "../../../dispatch/refusals/refusal.ts";
import { type FloorMethod, floorResult } from "../../../dispatch/routes/floor.ts";
import type { RouteHandler } from "../../../dispatch/routes/route.ts";
import type { Call, HandlerSuccess } from "../../../handlers/handler.ts";
import {
  type Amount,
  type Extract,
  extractSummary,
  type SummaryLimits,
} from "./extract-summary.ts";
import type { SourcePlaces } from "./source-reference.ts";
import { type ReadSources, readSources } from "./summary-sources.ts";

interface SummarizeOptions {
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
    const drive: Drive = (steps) => work.pace(steps, owner, call.signal);
    const read = await readSources(call.input["source"], { call, places, drive });
    if (read.kind === "refusal") return read;
    const contents = read.sources.map(({ content }) => content);
    const options = { ...request.limits, focus: request.focus.join(" ") };
    const extract = await drive(extractSummary(contents, options));
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

/** Joins two texts; after a text without a full stop, such as an object's members, the next starts a line. */
function joinProse(whole: string, text: string): string {
  if (whole === "") return text;
  return whole + (STOP.test(whole.slice(-LONGEST_STOP)) ? " " : "\n") + text;
}

/**
 * The share of the sources' content that the summary covers, to two decimals; half of it if no sentence is about the
 * focus.
 */
function confidenceOf({ coverage, focused }: Extract, focus: readonly string[]): number {
  const isOff = focus.length > 0 && focused === 0;
  return Math.round(100 * coverage * (isOff ? 0.5 : 1)) / 100;
}

type Length = "brief" | "standard" | "detailed";
type Format = "prose" | "bullets" | "structured";

interface SummaryRequest {
  /** Undefined if only a bound was given. */
  readonly length: Length | undefined;
  readonly format: Format;
  readonly focus: readonly string[];
  readonly limits: SummaryLimits;
  /** Parameters that an extractive summary cannot apply. */
  readonly notApplied: readonly string[];
}

/** The mark before each sentence in a list. */
const BULLET = "- ";

/** The draft's lengths and their aliases. */
const LENGTHS: ReadonlyMap<unknown, Length> = new Map(
  Object.entries({
    ...{ brief: "brief", standard: "standard", detailed: "detailed" },
    ...{ short: "brief", medium: "standard", long: "detailed" },
  } as const),
);
const FORMATS: ReadonlyMap<unknown, Format> = new Map(
  Object.entries({
    ...{ prose: "prose", bullets: "bullets", structured: "structured" },
    ...{ text: "prose", default: "prose", json: "structured" },
  } as const),
);
const AMOUNTS: Readonly<Record<Length, Amount>> = {
  brief: { sentences: 3, characters: 500 },
  standard: { sentences: 7, characters: 1_500 },
  detailed: { sentences: 15, characters: 4_000 },
};
const MAX_AMOUNT: Amount = { sentences: 50, characters: 20_000 };
const FOCUS = { type: "string", maxLength: 1_024 };
const NOT_APPLIED = ["audience"];

const SUMMARIZE_SCHEMA: FloorMethod["inputSchema"] = {
  type: "object",
  required: ["source"],
  properties: {
    // Bounded, since each source has an entry in the answer.
    source: { type: ["string", "object", "array"], maxItems: 4_096 },
    length: { enum: [...LENGTHS.keys()] },
    max_length: { type: "integer", minimum: 1, maximum: MAX_AMOUNT.characters },
    max_sentences: { type: "integer", minimum: 1, maximum: MAX_AMOUNT.sentences },
    focus: { type: ["string", "array"], maxLength: 1_024, maxItems: 32, items: FOCUS },
    format: { enum: [...FORMATS.keys()] },
    style: { enum: [...FORMATS.keys()] },
    audience: { type: ["string", "object"] },
    context: { type: "object" },
  },
};

/**
 * The parameters of SUMMARIZE beside its sources: length, format and focus, by the names of the draft and of the
 * reference implementation. `max_length` and `max_sentences` are bounds of their own; a length tightens them.   AGTP
 * "SUMMARIZE"
 */
function readSummaryRequest(input: JsonRecord): SummaryRequest {
  const { max_length: characters, max_sentences: sentences, focus = [] } = input;
  const named = LENGTHS.get(input["length"]);
  const isBounded = characters !== undefined || sentences !== undefined;
  const length = named ?? (isBounded ? undefined : "standard");
  const most = length === undefined ? MAX_AMOUNT : AMOUNTS[length];
  const format = FORMATS.get(input["format"] ?? input["style"]) ?? "prose";
  const asked: readonly unknown[] = Array.isArray(focus) ? focus : [focus];
  return {
    length,
    format,
    focus: asked.map(String).filter((text) => text.trim() !== ""),
    limits: {
      sentences: Math.min(most.sentences, Number(sentences ?? most.sentences)),
      characters: Math.min(most.characters, Number(characters ?? most.characters)),
      before: format === "bullets" ? BULLET.length : 0,
      between: format === "structured" ? 0 : 1,
    },
    notApplied: NOT_APPLIED.filter((name) => input[name] !== undefined),
  };
}
