/** A model's answer as the AI SDK tells it, whole or piece by piece: counted, checked and told on. */
import type {
  LanguageModelV3FinishReason,
  LanguageModelV3GenerateResult,
  LanguageModelV3StreamPart,
  LanguageModelV3ToolCall,
  LanguageModelV3Usage,
  SharedV3ProviderMetadata,
} from "@ai-sdk/provider";
import type { TokenUsage } from "./agent-runtime.ts";
import {
  type Completion,
  CompletionFault,
  type CompletionListener,
  isRefused,
  MAX_ANSWER_BYTES,
  MAX_CALLS,
  type RequestedCall,
  tooLong,
  tooManyCalls,
} from "./completion.ts";

/** With the `u` flag, a surrogate that is half of a pair does not match. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Reads a whole answer, and tells it all at once. */
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

/** Reads an answer while it arrives; one that ends before the model says so was cut. */
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
  if (completion === undefined) throw new Error(CUT);
  return completion;
}

const CUT = "the model's stream was cut";

/** The error that came in the stream's place: from the server, or from the SDK. */
function readError(error: unknown): Error {
  if (!(error instanceof Error)) return new CompletionFault("the model's stream ended in an error");
  // All that the SDK has against a stream as a whole is that it says nowhere why it ended.
  return error.name === "AI_InvalidResponseDataError" ? new Error(CUT) : error;
}

/** The end of an answer. */
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

  /** A call has begun. */
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
  if (LONE_SURROGATE.test(text)) {
    throw new CompletionFault("the model's answer has half of a surrogate pair in it");
  }
  return text;
}

/** Undefined: the server does not say. */
function readUsage({ inputTokens, outputTokens }: LanguageModelV3Usage): TokenUsage | undefined {
  if (inputTokens.total === undefined && outputTokens.total === undefined) return undefined;
  return { inputTokens: countOf(inputTokens.total), outputTokens: countOf(outputTokens.total) };
}

function countOf(value: number | undefined): number {
  return value !== undefined && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}
