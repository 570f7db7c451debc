/**
 * A model behind a chat-completions server, called through the AI SDK. The SDK encodes requests and decodes answers;
 * the connection and the key belong to `ModelServer`.
 */
import type { LanguageModelV3 } from "@ai-sdk/provider";
import { type LateLoad, loadLate } from "../../../base/late-load.ts";
import { octetSlices } from "../../../base/octet-slices.ts";
import type { ChatQuestion } from "./chat-prompt.ts";
import {
  type Completion,
  CompletionFault,
  type CompletionListener,
  completionExtras,
  MAX_ANSWER_BYTES,
  readStream,
  readWhole,
  tooLong,
} from "./completion.ts";
import { type ModelResponse, type ModelServer, ModelStatus } from "./model-server.ts";

/** The model, its server and the form of its answers. */
interface ChatModelOptions {
  readonly server: ModelServer;
  /** The key by which owners share the server's connections. */
  readonly owner: string;
  readonly name: string;
  readonly isStreaming: boolean;
}

/** Requests one completion; rejects with a fault, a status or a connection error. */
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
      // Some servers send one document although a stream was requested, or the reverse.
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

  /** Asks the server once; a retry in the other form reuses the response. */
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

/** The parts of the SDK that are used here. */
interface Sdk {
  openModel(name: string, fetch: typeof globalThis.fetch): LanguageModelV3;
  /** Unwraps the cause of an SDK error. */
  causeOf(error: unknown): unknown;
}

const MAX_CAUSES = 8;

/** Loaded late, since it takes long and must not delay the start. */
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

interface BodySource {
  readonly isEventStream: boolean;
  readonly body: AsyncIterable<Uint8Array>;
  /** Discards the rest. */
  discard(): void;
}

/** In a stream, each piece is wrapped in a few hundred octets of JSON. */
const MAX_STREAM_BYTES = 16 * MAX_ANSWER_BYTES;
const MAX_STREAM_LINES = 262_144;
/** The last event's data; anything after it is ignored. */
const DONE = /\ndata: ?\[DONE\]\r?\n/;
const DONE_LENGTH = "\ndata: [DONE]\r\n".length;
const NEWLINE = 0x0a;

/**
 * Returns the body of a model's answer in slices, so that others have turns in between. It is received on demand and up
 * to a bound, beyond which the stream errors.
 */
export function boundedBody(source: BodySource): ReadableStream<Uint8Array> {
  const slices = octetSlices(source.body);
  const bounds = source.isEventStream ? new StreamBounds() : new DocumentBounds();
  const giveUp = (): void => source.discard();
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await slices.next();
        if (done === true) return controller.close();
        try {
          bounds.add(value);
        } catch (error) {
          giveUp();
          throw error;
        }
        controller.enqueue(value);
        if (!bounds.isOver) return;
        giveUp();
        controller.close();
      },
      cancel: giveUp,
    },
    // Receives nothing before the first read.
    { highWaterMark: 0 },
  );
}

class DocumentBounds {
  readonly isOver = false;
  #length = 0;

  add(slice: Uint8Array): void {
    this.#length += slice.length;
    if (this.#length > MAX_ANSWER_BYTES) throw tooLong();
  }
}

/** Bounds an event stream and each of its lines. */
class StreamBounds {
  #length = 0;
  #lines = 0;
  #lineLength = 0;
  /** Starts as if after a line end. */
  #tail = "\n";

  get isOver(): boolean {
    return DONE.test(this.#tail);
  }

  add(slice: Uint8Array): void {
    this.#length += slice.length;
    if (this.#length > MAX_STREAM_BYTES) throw tooLong(MAX_STREAM_BYTES);
    for (const octet of slice) {
      const isEnd = octet === NEWLINE;
      this.#lineLength = isEnd ? 0 : this.#lineLength + 1;
      if (this.#lineLength > MAX_ANSWER_BYTES) throw tooLong();
      if (isEnd) this.#lines += 1;
    }
    if (this.#lines > MAX_STREAM_LINES) {
      throw new CompletionFault(`the model's answer has more than ${MAX_STREAM_LINES} lines`);
    }
    this.#tail = this.#tail.slice(-DONE_LENGTH) + Buffer.from(slice).toString("latin1");
  }
}
