/**
 * The answer of a model. Nothing in it is more than a text until it was checked. The AI SDK leaves out
 * unless told whether the model refused, and would put up with an event with calls beyond number.
 */

import type { MetadataExtractor } from "@ai-sdk/openai-compatible";
import type { SharedV3ProviderMetadata } from "@ai-sdk/provider";
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import type { TokenUsage } from "./agent-runtime.ts";

/** A call that the model asks for. */
export interface RequestedCall {
  readonly id: string;
  readonly name: string;
  /** JSON, as far as the model got it right. */
  readonly arguments: string;
}

/** One answer. */
export interface Completion {
  readonly content: string;
  readonly calls: readonly RequestedCall[];
  /** True if the model would not answer, or its server withheld what it said. */
  readonly isRefused: boolean;
  /** True if it ended because it was as long as it might be. */
  readonly isCut: boolean;
  readonly usage: TokenUsage | undefined;
}

/** Hears what the model says while it says it. */
export interface CompletionListener {
  reasoning(piece: string): Promise<void>;
  content(piece: string): Promise<void>;
}

/** An answer that is none; the message may be shown. */
export class CompletionFault extends Error {}

/** The longest answer that is read, in octets. */
export const MAX_ANSWER_BYTES = 1_048_576;

/** The fault of an answer that does not end. */
export function tooLong(limit: number = MAX_ANSWER_BYTES): CompletionFault {
  return new CompletionFault(`the model's answer is longer than ${limit} bytes`);
}

/** The most calls that a model may ask for at once. */
export const MAX_CALLS = 32;

const KEY = "agtpd";

/** Looks at what the server answered, beside the SDK. */
export const completionExtras: MetadataExtractor = {
  extractMetadata: ({ parsedBody }) => Promise.resolve(told(hasRefusal(parsedBody, "message"))),
  createStreamExtractor() {
    let isRefused = false;
    return {
      processChunk(chunk) {
        isRefused ||= hasRefusal(chunk, "delta");
        const calls = wordsOf(chunk, "delta")?.["tool_calls"];
        if (Array.isArray(calls) && calls.length > MAX_CALLS) throw tooManyCalls();
      },
      buildMetadata: () => told(isRefused),
    };
  },
};

/** The fault of a model that asks for everything. */
export function tooManyCalls(): CompletionFault {
  return new CompletionFault(`the model asks for more than ${MAX_CALLS} calls at once`);
}

/** Tells whether the model gave its own words for not answering. */
export function isRefused(metadata: SharedV3ProviderMetadata | undefined): boolean {
  return metadata?.[KEY]?.["isRefused"] === true;
}

function told(isRefused: boolean): SharedV3ProviderMetadata {
  return { [KEY]: { isRefused } };
}

function hasRefusal(document: unknown, member: "message" | "delta"): boolean {
  const words = wordsOf(document, member);
  const content = words?.["content"];
  // Newer servers write what a model says in parts, of which a refusal is one.
  return [words, ...(Array.isArray(content) ? content : [])].some(hasWordsOfRefusal);
}

function hasWordsOfRefusal(part: unknown): boolean {
  const refusal = isRecord(part) ? part["refusal"] : undefined;
  return typeof refusal === "string" && refusal !== "";
}

function wordsOf(document: unknown, member: "message" | "delta"): JsonRecord | undefined {
  const choices = isRecord(document) ? document["choices"] : undefined;
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  const words = isRecord(choice) ? choice[member] : undefined;
  return isRecord(words) ? words : undefined;
}
