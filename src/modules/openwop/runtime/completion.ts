/** The answer of a model. Nothing in it is more than a text until it was checked. */
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
