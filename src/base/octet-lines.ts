/** Lines of octets that arrive in pieces, such as those of a file; a last one without a line feed is none. */

const LINE_FEED = 0x0a;

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

  /** The lines that end in a piece, without their line feeds. Throws for one that is too long. */
  *take(piece: Buffer): Generator<Buffer> {
    let start = 0;
    for (let end = piece.indexOf(LINE_FEED); end !== -1; end = piece.indexOf(LINE_FEED, start)) {
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
