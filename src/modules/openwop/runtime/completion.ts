/**
 * Reads a model's answer, which is not trusted before validation. Two gaps of the AI SDK are filled here: it drops
 * refusals, and does not bound the number of calls in an event.
 */

import type { MetadataExtractor } from "@ai-sdk/openai-compatible";
import type {
  LanguageModelV3FinishReason,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3ToolCall,
  LanguageModelV3Usage,
  SharedV3ProviderMetadata,
} from "@ai-sdk/provider";
import { hasLoneSurrogate, type JsonRecord, recordIn } from "../../../base/json-value.ts";
import type { TokenUsage } from "./agent-runtime.ts";

/** A tool call that the model requests. */
export interface RequestedCall {
  readonly id: string;
  readonly name: string;
  /** Supposed to be JSON, as the model wrote it. */
  readonly arguments: string;
}

/** A model's answer. */
export interface Completion {
  readonly content: string;
  readonly calls: readonly RequestedCall[];
  /** True if the model refused, or its server filtered the answer. */
  readonly isRefused: boolean;
  /** True if the answer reached the length limit. */
  readonly isCut: boolean;
  readonly usage: TokenUsage | undefined;
}

/** Receives an answer as it arrives. */
export interface CompletionListener {
  reasoning(piece: string): Promise<void>;
  content(piece: string): Promise<void>;
}

/** An unusable answer; the message may be shown to callers. */
export class CompletionFault extends Error {}

/** The maximum length of an answer in octets. */
export const MAX_ANSWER_BYTES = 1_048_576;

/** The fault of an answer over the length limit. */
export function tooLong(limit: number = MAX_ANSWER_BYTES): CompletionFault {
  return new CompletionFault(`the model's answer is longer than ${limit} bytes`);
}

/** The maximum number of calls per answer. */
const MAX_CALLS = 32;

const KEY = "agtpd";

/** Examines the raw answer for what the SDK drops. */
export const completionExtras: MetadataExtractor = {
  extractMetadata: ({ parsedBody }) => Promise.resolve(told(hasRefusal(parsedBody, "message"))),
  createStreamExtractor() {
    let isRefused = false;
    return {
      processChunk(chunk) {
        isRefused ||= hasRefusal(chunk, "delta");
        const calls = wordsOf(chunk, "delta")["tool_calls"];
        if (Array.isArray(calls) && calls.length > MAX_CALLS) throw tooManyCalls();
      },
      buildMetadata: () => told(isRefused),
    };
  },
};

/** The fault of an answer with too many calls. */
function tooManyCalls(): CompletionFault {
  return new CompletionFault(`the model asks for more than ${MAX_CALLS} calls at once`);
}

/** Tells whether the model stated a refusal. */
function isRefused(metadata: SharedV3ProviderMetadata | undefined): boolean {
  return metadata?.[KEY]?.["isRefused"] === true;
}

function told(isRefused: boolean): SharedV3ProviderMetadata {
  return { [KEY]: { isRefused } };
}

function hasRefusal(document: unknown, member: "message" | "delta"): boolean {
  const words = wordsOf(document, member);
  const { content } = words;
  // Newer servers split the content into parts, one of which may be a refusal.
  return [words, ...(Array.isArray(content) ? content : [])].some(hasWordsOfRefusal);
}

function hasWordsOfRefusal(part: unknown): boolean {
  const { refusal } = recordIn(part);
  return typeof refusal === "string" && refusal !== "";
}

function wordsOf(document: unknown, member: "message" | "delta"): JsonRecord {
  const { choices } = recordIn(document);
  const choice: unknown = Array.isArray(choices) ? choices[0] : undefined;
  return recordIn(recordIn(choice)[member]);
}

/** Reads a complete answer and passes it to the listener. */
export async function readWhole(
  { content, ...end }: LanguageModelV3GenerateResult,
  listener: CompletionListener,
): Promise<Completion> {
  const reader = new CompletionReader(listener);
  for (const part of content) {
    if (part.type === "reasoning") await reader.addReasoning(part.text);
    else if (part.type === "text") await reader.addContent(part.text);
    else if (part.type === "tool-call") reader.addCall(part);
  }
  return reader.end(end);
}

/** Reads an answer as it arrives; it is cut if it ends without a finish event. */
export async function readStream(
  stream: ReadableStream<LanguageModelV3StreamPart>,
  listener: CompletionListener,
): Promise<Completion> {
  const reader = new CompletionReader(listener);
  let completion: Completion | undefined;
  for await (const part of stream) {
    switch (part.type) {
      case "reasoning-delta":
        await reader.addReasoning(part.delta);
        break;
      case "text-delta":
        await reader.addContent(part.delta);
        break;
      case "tool-input-start":
        reader.expectCall();
        break;
      case "tool-input-delta":
        reader.grow(part.delta);
        break;
      case "tool-call":
        reader.addCall(part);
        break;
      case "error":
        throw readError(part.error);
      case "finish":
        completion = reader.end(part);
    }
  }
  if (completion === undefined) throw new Error(CUT_STREAM);
  return completion;
}

const CUT_STREAM = "the model's stream was cut";

/** Returns the error of a failed stream, from the server or the SDK. */
function readError(error: unknown): Error {
  if (!(error instanceof Error)) return new CompletionFault("the model's stream ended in an error");
  // The SDK's only error of this type means that the stream ended without a reason.
  return error.name === "AI_InvalidResponseDataError" ? new Error(CUT_STREAM) : error;
}

interface CompletionEnd {
  readonly finishReason: LanguageModelV3FinishReason;
  readonly usage: LanguageModelV3Usage;
  readonly providerMetadata?: SharedV3ProviderMetadata;
}

class CompletionReader {
  readonly #listener: CompletionListener;
  readonly #calls: RequestedCall[] = [];
  #expected = 0;
  #length = 0;
  #content = "";

  constructor(listener: CompletionListener) {
    this.#listener = listener;
  }

  async addReasoning(piece: string): Promise<void> {
    await this.#listener.reasoning(checked(piece));
  }

  async addContent(piece: string): Promise<void> {
    this.grow(piece);
    this.#content += checked(piece);
    await this.#listener.content(piece);
  }

  expectCall(): void {
    this.#expected += 1;
    if (this.#expected > MAX_CALLS) throw tooManyCalls();
  }

  addCall({ toolCallId: id, toolName: name, input }: LanguageModelV3ToolCall): void {
    if (this.#calls.push({ id, name, arguments: input }) > MAX_CALLS) throw tooManyCalls();
  }

  grow(text: string): void {
    this.#length += text.length;
    if (this.#length > MAX_ANSWER_BYTES) throw tooLong();
  }

  end({ finishReason, usage, providerMetadata }: CompletionEnd): Completion {
    const { unified, raw } = finishReason;
    return {
      content: this.#content,
      calls: this.#calls,
      isRefused: unified === "content-filter" || raw === "refusal" || isRefused(providerMetadata),
      isCut: unified === "length",
      usage: readUsage(usage),
    };
  }
}

function checked(text: string): string {
  if (hasLoneSurrogate(text)) {
    throw new CompletionFault("the model's answer has half of a surrogate pair in it");
  }
  return text;
}

/** Undefined if the server does not report usage. */
function readUsage({ inputTokens, outputTokens }: LanguageModelV3Usage): TokenUsage | undefined {
  if (inputTokens.total === undefined && outputTokens.total === undefined) return undefined;
  return { inputTokens: countOf(inputTokens.total), outputTokens: countOf(outputTokens.total) };
}

function countOf(value: number | undefined): number {
  return value !== undefined && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}
