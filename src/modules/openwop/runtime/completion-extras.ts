/**
 * Parts of an answer that the AI SDK leaves out unless told: whether the model refused. And what
 * it would put up with: an event with calls beyond number.
 */
import type { MetadataExtractor } from "@ai-sdk/openai-compatible";
import type { SharedV3ProviderMetadata } from "@ai-sdk/provider";
import { isRecord, type JsonRecord } from "../../../base/json-value.ts";
import { CompletionFault } from "./completion.ts";

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
