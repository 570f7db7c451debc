/**
 * The world as a program of the command line is given it, so that a test can be the world: where
 * it writes, what it reads, and where it stands.
 */

import type { Readable, Writable } from "node:stream";
import type { Environment } from "../../base/environment.ts";
import { clip } from "../../base/json-value.ts";

export interface Output {
  write(text: string): void;
  /** A person reads it, so control characters are defused. */
  readonly isTerminal: boolean;
  readonly hasColour: boolean;
}

/** The world around one run of a program. */
export interface Terminal {
  readonly out: Output;
  readonly err: Output;
  /** Relative paths start here. */
  readonly directory: string;
  readonly environment: Environment;
  /** The file of the program that Node was given by its path, such as that of a checkout; undefined: a command ran it. */
  readonly script?: string;
  /** Reads all of standard input, or throws ERR_AGTP_REQUEST when that is absurdly much. */
  readInput(maxBytes?: number): Promise<string>;
  /** Standard input and output as they are, for programs that hold a conversation over them. */
  readonly streams: { readonly input: Readable; readonly output: Writable };
}

/**
 * C0 but HTAB and LF, DEL, C1, marks of direction, and what is not seen: a peer could forge output, or hide in it
 * what somebody is to judge. Signs keep what gives them their colours, they and scripts without case what joins them.
 */
const DECEPTIVE =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffb]|(?<![\p{Lo}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])[\u200c\u200d]|(?![\u200c\u200d])\p{Default_Ignorable_Code_Point}(?<!\p{Extended_Pictographic}\ufe0f)/gu;

/** Text of a peer, made safe to be shown. */
export function defuse(text: string): string {
  return text.replace(DECEPTIVE, "\ufffd");
}

/** JSON for an output: the same document, which JSON's own escapes make safe to be shown. */
export function defuseJson(json: string, { isTerminal }: Pick<Output, "isTerminal">): string {
  return isTerminal ? json.replace(DECEPTIVE, escaped) : json;
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** Defuses a text, on one line of bearable length. */
export function defuseLine(text: string): string {
  return clip(defuse(text.replace(/\s+/g, " ").trim()), 500);
}
