/**
 * Long texts as pieces of octets, which are made, joined and hashed in steps, because each of these
 * would block the event loop for a text of many megabytes.
 */
import { createHash } from "node:crypto";
import type { Paced } from "./paced.ts";

/** Octets in pieces. */
export type Pieces = readonly Uint8Array[];

/** The length of a piece, which is processed in a fraction of a millisecond. */
const PIECE_LENGTH = 64 * 1024;

/** Joins many short texts into pieces. */
export class PieceWriter {
  readonly pieces: Uint8Array[] = [];
  #text = "";

  add(text: string): void {
    this.#text += text;
    if (this.#text.length >= PIECE_LENGTH) this.#cut();
  }

  end(): Pieces {
    if (this.#text !== "") this.#cut();
    return this.pieces;
  }

  #cut(): void {
    this.pieces.push(Buffer.from(this.#text));
    this.#text = "";
  }
}

/** Returns the number of octets. */
export function lengthOf(pieces: Pieces): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

/** Splits contiguous octets into pieces, as views. */
export function* inSlices(octets: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < octets.length; at += PIECE_LENGTH) {
    yield octets.subarray(at, at + PIECE_LENGTH);
  }
}

/** Copies pieces into a buffer; returns the end of the copy. */
export function* copying(
  pieces: Iterable<Uint8Array>,
  target: Uint8Array,
  start: number,
): Paced<number> {
  let at = start;
  for (const piece of pieces) {
    target.set(piece, at);
    at += piece.length;
    yield;
  }
  return at;
}

/** Joins the pieces. */
export function* joining(pieces: Pieces): Paced<Buffer> {
  const whole = Buffer.allocUnsafeSlow(lengthOf(pieces));
  yield* copying(pieces, whole, 0);
  return whole;
}

/** Returns the SHA-256 in lower-case hex. */
export function* hashing(pieces: Pieces): Paced<string> {
  const hash = createHash("sha256");
  for (const piece of pieces) {
    for (const slice of inSlices(piece)) {
      hash.update(slice);
      yield;
    }
  }
  return hash.digest("hex");
}
