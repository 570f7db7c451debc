/**
 * The world as a program of the command line is given it, so that a test can be the world: where
 * it writes, what it reads, and where it stands.
 */

import type { Readable, Writable } from "node:stream";
import type { Environment } from "../../base/environment.ts";
import { clip } from "../../base/json-value.ts";

/** One output stream. */
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
  /** Reads all of standard input, or throws ERR_AGTP_REQUEST when that is absurdly much. */
  readInput(maxBytes?: number): Promise<string>;
  /** Standard input and output as they are, for programs that hold a conversation over them. */
  readonly streams: { readonly input: Readable; readonly output: Writable };
}

/** C0 but HTAB and LF, DEL, C1, and what changes the direction of text: a peer could forge output. */
const CONTROLS = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** Text of a peer, made safe to be shown. */
export function defuse(text: string): string {
  return text.replace(CONTROLS, "\ufffd");
}

/** Defuses a text, on one line of bearable length. */
export function defuseLine(text: string): string {
  return clip(defuse(text.replace(/\s+/g, " ").trim()), 500);
}
