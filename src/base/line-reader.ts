/**
 * Cuts a stream of octets into lines at LF, however it arrives. A line that is too long is told of
 * once, when it is, and then passed over without being kept.
 */

/** A whole line without its end, or one that nobody will read. */
export type Line =
  | { readonly kind: "line"; readonly octets: Buffer }
  | { readonly kind: "too-long" };

const LF = 0x0a;
const CR = 0x0d;

/** Reads lines of at most so many octets, without counting a CR that is part of their end. */
export class LineReader {
  readonly #maxBytes: number;
  #parts: Buffer[] = [];
  #length = 0;
  #isSkipping = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** The lines that end in a piece, each when it is asked for; all of them before the next piece. */
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

  /** The rest when the stream has ended: a last line needs no end. */
  end(): readonly Line[] {
    return this.#length === 0 ? [] : [this.#line()];
  }

  /** One octet more than there may be is the CR, or too much. */
  #line(): Line {
    const octets = this.#take();
    if (octets.length <= this.#maxBytes) return { kind: "line", octets };
    if (octets.at(-1) !== CR) return { kind: "too-long" };
    return { kind: "line", octets: octets.subarray(0, -1) };
  }

  /** False when the line has just become too long. */
  #keep(piece: Buffer): boolean {
    if (this.#isSkipping || piece.length === 0) return true;
    if (this.#length + piece.length > this.#maxBytes + 1) {
      this.#take();
      this.#isSkipping = true;
      return false;
    }
    // A view would keep the whole chunk alive for as long as its line is not over.
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

/** Lines of octets that arrive in pieces, such as those of a file; a last one without a line feed is none. */
export class OctetLines {
  readonly #maxOctets: number;
  readonly #tooLong: () => Error;
  /** The pieces of the line that has begun. */
  #parts: Buffer[] = [];
  #length = 0;

  /** `tooLong` makes the error of a line that has more octets than it may. */
  constructor(maxOctets: number, tooLong: () => Error) {
    this.#maxOctets = maxOctets;
    this.#tooLong = tooLong;
  }

  /** The line that has begun, as far as it has come. */
  rest(): Buffer {
    return Buffer.concat(this.#parts);
  }

  /** The lines that end in a piece, without their line feeds. Throws for one that is too long. */
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
    // A piece may be much longer than what is left of it.
    if (rest.length > 0) this.#parts.push(Buffer.from(rest));
  }
}
