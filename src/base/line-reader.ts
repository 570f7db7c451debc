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

  /** The lines that end in these octets. */
  push(octets: Buffer): readonly Line[] {
    const lines: Line[] = [];
    let start = 0;
    while (start < octets.length) {
      const end = octets.indexOf(LF, start);
      const isEnded = end !== -1;
      const piece = octets.subarray(start, isEnded ? end : octets.length);
      if (!this.#keep(piece)) lines.push({ kind: "too-long" });
      if (!isEnded) break;
      if (!this.#isSkipping) lines.push(this.#line());
      this.#isSkipping = false;
      start = end + 1;
    }
    return lines;
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
