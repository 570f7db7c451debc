/**
 * What a model answered, in the form of chat completions: read from one JSON document, or from a
 * stream of events. Nothing in it is believed to be of any kind before it was looked at.
 */
import { parseBoundedJson } from "../../../identity/json-document.ts";
import { isRecord, type JsonRecord } from "../../../json-value.ts";
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
  /** The model's own words for not answering. */
  readonly refusal: string | undefined;
  /** Whether it ended because it was as long as it might be. */
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

/** The longest answer that is read. */
export const MAX_ANSWER_BYTES = 1_048_576;
const MAX_CALLS = 32;
const MAX_CALL_INDEX = 255;

/** Reads a whole document; tells it all at once. */
export async function readCompletion(
  body: AsyncIterable<Uint8Array>,
  listener: CompletionListener,
): Promise<Completion> {
  const parsed = parseBoundedJson(await readText(body));
  const document = parsed.fault === undefined && isRecord(parsed.value) ? parsed.value : undefined;
  if (document === undefined)
    throw new CompletionFault("the model's server did not answer in JSON");
  const builder = new CompletionBuilder(listener);
  await builder.add(document, "message");
  return builder.build();
}

async function readText(body: AsyncIterable<Uint8Array>): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    length += chunk.length;
    if (length > MAX_ANSWER_BYTES) throw tooLong();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks, length).toString("utf8");
}

/** The fault of an answer that does not end. */
export function tooLong(): CompletionFault {
  return new CompletionFault(`the model's answer is longer than ${MAX_ANSWER_BYTES} bytes`);
}

/** Puts a completion together from one document or many pieces. */
export class CompletionBuilder {
  readonly #listener: CompletionListener;
  readonly #calls: OpenCall[] = [];
  readonly #callAt = new Map<number, OpenCall>();
  #length = 0;
  #content = "";
  #isCut = false;
  #refusal: string | undefined;
  #usage: TokenUsage | undefined;
  #hasChoice = false;
  #isFinished = false;

  constructor(listener: CompletionListener) {
    this.#listener = listener;
  }

  /** Whether the model has said why it ended. */
  get isFinished(): boolean {
    return this.#isFinished;
  }

  /** Adds what one document says; `member` is where a choice has its words. */
  async add(document: JsonRecord, member: "message" | "delta"): Promise<void> {
    this.#usage = readUsage(document["usage"]) ?? this.#usage;
    const choice: unknown = Array.isArray(document["choices"]) ? document["choices"][0] : undefined;
    if (!isRecord(choice)) return;
    this.#isFinished ||= typeof choice["finish_reason"] === "string";
    this.#isCut ||= choice["finish_reason"] === "length";
    if (choice["finish_reason"] === "content_filter") this.#refusal ??= "the answer was withheld";
    const words = choice[member];
    if (!isRecord(words)) return;
    this.#hasChoice = true;
    this.#refusal = textOf(words["refusal"]) ?? this.#refusal;
    const reasoning = textOf(words["reasoning_content"]) ?? textOf(words["reasoning"]);
    if (reasoning !== undefined) await this.#listener.reasoning(reasoning);
    const content = textOf(words["content"]);
    if (content !== undefined) {
      this.#grow(content);
      this.#content += content;
      await this.#listener.content(content);
    }
    if (!Array.isArray(words["tool_calls"])) return;
    for (const [place, piece] of words["tool_calls"].entries()) {
      if (!isRecord(piece) || !isRecord(piece["function"])) continue;
      // In a document the calls stand beside each other, whatever they say of their places.
      const index = member === "message" ? place : (piece["index"] ?? place);
      this.#addCall(index, textOf(piece["id"]), piece["function"]);
    }
  }

  build(): Completion {
    if (!this.#hasChoice) throw new CompletionFault("the model's answer has no choice in it");
    return {
      content: this.#content,
      calls: this.#calls.flatMap(({ id, name, arguments: written }, place) =>
        name === "" ? [] : [{ id: id ?? `call_${place}`, name, arguments: written }],
      ),
      refusal: this.#refusal,
      isCut: this.#isCut,
      usage: this.#usage,
    };
  }

  /** A call's arguments come in pieces, told apart by their index. */
  #addCall(index: unknown, id: string | undefined, { name, arguments: written }: JsonRecord): void {
    if (typeof index !== "number" || !(index >= 0 && index <= MAX_CALL_INDEX)) return;
    let call = this.#callAt.get(index);
    // Some servers say of every call that it is the first: another id is another call.
    if (call === undefined || (id !== undefined && call.id !== undefined && id !== call.id)) {
      call = { id: undefined, name: "", arguments: "" };
      if (this.#calls.push(call) > MAX_CALLS) {
        throw new CompletionFault(`the model asks for more than ${MAX_CALLS} calls at once`);
      }
      this.#callAt.set(index, call);
    }
    // Some servers write an object where a text is meant.
    const text = isRecord(written) ? JSON.stringify(written) : (textOf(written) ?? "");
    this.#grow(text);
    call.id ??= id;
    call.name += textOf(name) ?? "";
    call.arguments += text;
  }

  #grow(text: string): void {
    this.#length += text.length;
    if (this.#length > MAX_ANSWER_BYTES) throw tooLong();
  }
}

/** A call that may go on. */
interface OpenCall {
  id: string | undefined;
  name: string;
  arguments: string;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function readUsage(usage: unknown): TokenUsage | undefined {
  if (!isRecord(usage)) return undefined;
  return {
    inputTokens: countOf(usage["prompt_tokens"]),
    outputTokens: countOf(usage["completion_tokens"]),
  };
}

function countOf(value: unknown): number {
  return typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
}
