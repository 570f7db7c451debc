/**
 * A model behind a server that speaks chat completions, as the AI SDK asks it. The SDK writes the
 * request and reads the answer, and knows neither where the server is nor what its key is: the way
 * there is `ModelServer`'s.
 */
import type { LanguageModelV3 } from "@ai-sdk/provider";
import { type LateLoad, loadLate } from "../../../base/late-load.ts";
import { boundedBody } from "./bounded-body.ts";
import type { ChatQuestion } from "./chat-prompt.ts";
import {
  type Completion,
  CompletionFault,
  type CompletionListener,
  completionExtras,
  readStream,
  readWhole,
} from "./completion.ts";
import { type ModelResponse, type ModelServer, ModelStatus } from "./model-server.ts";

/** The model, its place, and the form in which it is to answer. */
interface ChatModelOptions {
  readonly server: ModelServer;
  /** For whom it is asked. */
  readonly owner: string;
  readonly name: string;
  readonly isStreaming: boolean;
}

/**
 * Asks the model once for a completion; rejects with a fault, a status, or whatever the way there
 * came to.
 */
export async function complete(
  options: ChatModelOptions,
  question: ChatQuestion,
  listener: CompletionListener,
): Promise<Completion> {
  const sdk = await loadSdk();
  try {
    return await new ChatCall(options, sdk).complete(question, listener);
  } catch (error) {
    throw sdk.causeOf(error);
  }
}

/** One question. */
class ChatCall {
  readonly #server: ModelServer;
  readonly #owner: string;
  readonly #model: LanguageModelV3;
  #isStreaming: boolean;
  #response: ModelResponse | undefined;

  constructor({ server, owner, name, isStreaming }: ChatModelOptions, sdk: Sdk) {
    this.#server = server;
    this.#owner = owner;
    this.#isStreaming = isStreaming;
    this.#model = sdk.openModel(name, (_, request) => this.#fetch(request));
  }

  async complete(question: ChatQuestion, listener: CompletionListener): Promise<Completion> {
    try {
      return await this.#ask(question, listener);
    } catch (error) {
      // Some servers answer in one document though a stream was asked for, and some in a stream.
      if (!(error instanceof OtherForm)) throw error;
      this.#isStreaming = !this.#isStreaming;
      return this.#ask(question, listener);
    }
  }

  async #ask(question: ChatQuestion, listener: CompletionListener): Promise<Completion> {
    if (!this.#isStreaming) return readWhole(await this.#model.doGenerate(question), listener);
    const { stream } = await this.#model.doStream(question);
    return readStream(stream, listener);
  }

  /** The server is asked once; what it answers is read in the form that it has. */
  async #fetch({ body, signal }: RequestInit = {}): Promise<Response> {
    this.#response ??= await this.#server.ask(String(body), {
      owner: this.#owner,
      signal: signal ?? NEVER,
    });
    const response = this.#response;
    if (response.status !== 200) {
      response.discard();
      throw new ModelStatus(response);
    }
    if (response.isEventStream !== this.#isStreaming) throw new OtherForm();
    return new Response(boundedBody(response));
  }
}

const NEVER = new AbortController().signal;

class OtherForm extends Error {}

/** The parts of the SDK that are used. */
interface Sdk {
  openModel(name: string, fetch: typeof globalThis.fetch): LanguageModelV3;
  /** The cause of an error of the SDK's. */
  causeOf(error: unknown): unknown;
}

const MAX_CAUSES = 8;

/** It takes long to load: a start does not wait for it. */
export const loadSdk: LateLoad<Sdk> = loadLate(importSdk);

async function importSdk(): Promise<Sdk> {
  const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
  const { InvalidResponseDataError, JSONParseError, TypeValidationError } = await import(
    "@ai-sdk/provider"
  );
  const unreadable = [InvalidResponseDataError, JSONParseError, TypeValidationError];
  return {
    openModel: (name, fetch) =>
      createOpenAICompatible({
        ...{ name: "agtpd", baseURL: "http://model.invalid", fetch },
        ...{ includeUsage: true, metadataExtractor: completionExtras },
      }).chatModel(name),
    causeOf(error) {
      let cause = error;
      for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error; depth += 1) {
        if (cause instanceof CompletionFault || cause instanceof ModelStatus) return cause;
        if (unreadable.some((kind) => kind.isInstance(cause)))
          return new CompletionFault(UNREADABLE);
        cause = cause.cause;
      }
      return error;
    },
  };
}

const UNREADABLE = "the model's server did not answer with a chat completion";
