/**
 * Long texts as octets in pieces: made, joined and hashed a piece a step, because a text of many
 * megabytes would hold the event loop for as long as each of these takes.
 */
import { createHash } from "node:crypto";
import type { Paced } from "./paced.ts";

/** Octets in pieces. */
export type Pieces = readonly Uint8Array[];

/** A piece is looked at in a fraction of a millisecond. */
const PIECE_LENGTH = 64 * 1024;

/** Puts a text together from many short ones. */
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

/** The number of octets. */
export function lengthOf(pieces: Pieces): number {
  return pieces.reduce((sum, { length }) => sum + length, 0);
}

/** Octets that lie together, as views of them that are pieces. */
export function* inSlices(octets: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < octets.length; at += PIECE_LENGTH) {
    yield octets.subarray(at, at + PIECE_LENGTH);
  }
}

/** Copies the pieces to where they belong, and answers with where they end. */
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

/** The pieces as one. */
export function* joining(pieces: Pieces): Paced<Buffer> {
  const whole = Buffer.allocUnsafeSlow(lengthOf(pieces));
  yield* copying(pieces, whole, 0);
  return whole;
}

/** SHA-256 in lower-case hex. */
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
