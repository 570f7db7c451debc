/**
 * A request of SUMMARIZE beside its sources: how long, in which form, about what. The names of the
 * draft, and those of the reference implementation.   AGTP "SUMMARIZE"
 */

import type { JsonRecord } from "../../../base/json-value.ts";
import type { FloorMethod } from "../../../dispatch/routes/floor.ts";
import type { SummaryLimits } from "./extract-choice.ts";
import type { Amount } from "./extract-summary.ts";

type Length = "brief" | "standard" | "detailed";
type Format = "prose" | "bullets" | "structured";

/** A summary as it is asked for. */
export interface SummaryRequest {
  /** Undefined where only a bound was given. */
  readonly length: Length | undefined;
  readonly format: Format;
  readonly focus: readonly string[];
  readonly limits: SummaryLimits;
  /** Parameters that choosing sentences can do nothing with. */
  readonly notApplied: readonly string[];
}

/** The mark before each sentence of a list. */
export const BULLET = "- ";

/** The draft's lengths, and what else they are called. */
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

/** Parameters of SUMMARIZE. */
export const SUMMARIZE_SCHEMA: FloorMethod["inputSchema"] = {
  type: "object",
  required: ["source"],
  properties: {
    source: { type: ["string", "object", "array"] },
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

/** `max_length` and `max_sentences` alone say how long it may be; a length limits it further. */
export function readSummaryRequest(input: JsonRecord): SummaryRequest {
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
