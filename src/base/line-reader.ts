/**
 * Splits a stream of octets into lines at LF, for any chunking. A line that is too long is reported
 * once, as soon as it is, and then skipped without being kept.
 */

/** A whole line without its end, or a report of one that is too long. */
export type Line =
  | { readonly kind: "line"; readonly octets: Buffer }
  | { readonly kind: "too-long" };

const LF = 0x0a;
const CR = 0x0d;

/** Reads lines of at most this many octets, not counting a CR at their end. */
export class LineReader {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #length = 0;
  #isSkipping = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Yields the lines that end in a piece, lazily; they must be consumed before the next piece. */
  *push(octets: Buffer): Generator<Line, void> {
    let start = 0;
    while (start < octets.length) {
      const end = octets.indexOf(LF, start);
      const isEnded = end !== -1;
      const piece = octets.subarray(start, isEnded ? end : octets.length);
      if (!this.#keep(piece)) yield { kind: "too-long" };
      if (!isEnded) return;
      const isWhole = !this.#isSkipping;
      this.#isSkipping = false;
      if (isWhole) yield this.#line();
      start = end + 1;
    }
  }

  /** Returns the rest at the end of the stream, since the last line needs no LF. */
  end(): readonly Line[] {
    return this.#length === 0 ? [] : [this.#line()];
  }

  /** An octet above the limit must be a CR. */
  #line(): Line {
    const octets = this.#take();
    if (octets.length <= this.#maxBytes) return { kind: "line", octets };
    if (octets.at(-1) !== CR) return { kind: "too-long" };
    return { kind: "line", octets: octets.subarray(0, -1) };
  }

  /** Keeps a piece of the line; false if the line has just become too long. */
  #keep(piece: Buffer): boolean {
    if (this.#isSkipping || piece.length === 0) return true;
    if (this.#length + piece.length > this.#maxBytes + 1) {
      this.#take();
      this.#isSkipping = true;
      return false;
    }
    // Copied, since a view would keep the whole chunk alive until its line ends.
    this.#parts.push(Buffer.from(piece));
    this.#length += piece.length;
    return true;
  }

  #take(): Buffer {
    const octets = Buffer.concat(this.#parts, this.#length);
    this.#parts = [];
    this.#length = 0;
    return octets;
  }
}

/** Splits octets that arrive in pieces, such as those of a file; a last line without LF is not returned. */
export class OctetLines {
  readonly #maxOctets: number;
  readonly #tooLong: () => Error;
  /** The pieces of the incomplete line. */
  #parts: Buffer[] = [];
  #length = 0;

  /** Takes the function that makes the error of an overlong line. */
  constructor(maxOctets: number, tooLong: () => Error) {
    this.#maxOctets = maxOctets;
    this.#tooLong = tooLong;
  }

  /** Returns the incomplete line. */
  rest(): Buffer {
    return Buffer.concat(this.#parts);
  }

  /** Yields the lines that end in a piece, without their LF. Throws for one that is too long. */
  *take(piece: Buffer): Generator<Buffer> {
    let start = 0;
    for (let end = piece.indexOf(LF); end !== -1; end = piece.indexOf(LF, start)) {
      const last = piece.subarray(start, end);
      start = end + 1;
      yield this.#parts.length === 0 ? last : Buffer.concat([...this.#parts, last]);
      this.#parts = [];
      this.#length = 0;
    }
    const rest = piece.subarray(start);
    this.#length += rest.length;
    if (this.#length > this.#maxOctets) throw this.#tooLong();
    // Copied, since the piece may be much longer than its rest.
    if (rest.length > 0) this.#parts.push(Buffer.from(rest));
  }
}
