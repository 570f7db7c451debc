/**
 * The environment of a command-line program, passed in so that tests can replace it: its outputs,
 * its input, and its directory.
 */

import type { Readable, Writable } from "node:stream";
import type { Environment } from "../../base/environment.ts";
import { clip } from "../../base/json-value.ts";

export interface Output {
  write(text: string): void;
  /** True if a person reads it, so that control characters are defused. */
  readonly isTerminal: boolean;
  readonly hasColour: boolean;
}

/** The environment of one run of a program. */
export interface Terminal {
  readonly out: Output;
  readonly err: Output;
  /** The base of relative paths. */
  readonly directory: string;
  readonly environment: Environment;
  /** The program's file if Node was given its path, as in a checkout; undefined if a command ran it. */
  readonly script?: string;
  /** Reads all of standard input; throws ERR_AGTP_REQUEST if it exceeds the limit. */
  readInput(maxBytes?: number): Promise<string>;
  /** The raw streams, for programs that hold a conversation over them. */
  readonly streams: { readonly input: Readable; readonly output: Writable };
}

/**
 * C0 except HTAB and LF, DEL, C1, direction marks, and invisible characters: a peer could forge
 * output with them, or hide text that a person has to judge. Variation selectors of symbols are
 * kept, and so are joiners in symbols and in caseless scripts.
 */
const DECEPTIVE =
  /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ufff9-\ufffb]|(?<![\p{Lo}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}])[\u200c\u200d]|(?![\u200c\u200d])\p{Default_Ignorable_Code_Point}(?<!\p{Extended_Pictographic}\ufe0f)/gu;

/** Makes text of a peer safe to display. */
export function defuse(text: string): string {
  return text.replace(DECEPTIVE, "\ufffd");
}

/** Makes JSON safe to display by JSON's own escapes; the document stays the same. */
export function defuseJson(json: string, { isTerminal }: Pick<Output, "isTerminal">): string {
  return isTerminal ? json.replace(DECEPTIVE, escaped) : json;
}

function escaped(character: string): string {
  const units = Array.from({ length: character.length }, (_, at) => character.charCodeAt(at));
  return units.map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`).join("");
}

/** Makes a text safe to display, on one line of limited length. */
export function defuseLine(text: string): string {
  return clip(defuse(text.replace(/\s+/g, " ").trim()), 500);
}
