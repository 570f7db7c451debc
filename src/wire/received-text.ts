/** Bodies as text: those that arrived together are decoded together, once one of them is asked for. */
import { type Buffer, isAscii } from "node:buffer";

/** So much is decoded at once; a longer body is decoded by who looks at it. */
export const MAX_TEXT_LENGTH: number = 16 * 1024;

/**
 * Octets that arrived together, where they lie. Decoding them together makes each of 16 requests cheaper by a
 * thirtieth; a request that is refused before its body is looked at goes without.
 */
export class ReceivedText {
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #end: number;
  /** Undefined: they are not ASCII, or not decoded yet. */
  #text: string | undefined;
  #isDecoded = false;

  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = Math.min(end, start + MAX_TEXT_LENGTH);
  }

  /** True where a body that ends there lies within. */
  reaches(end: number): boolean {
    return end <= this.#end;
  }

  /** The text of a body; undefined: it is not ASCII. */
  of(start: number, length: number): string | undefined {
    if (!this.#isDecoded) {
      this.#isDecoded = true;
      this.#text = decode(this.#bytes, this.#start, this.#end);
    }
    if (this.#text === undefined) return decode(this.#bytes, start, start + length);
    return this.#text.slice(start - this.#start, start - this.#start + length);
  }
}

function decode(bytes: Buffer, start: number, end: number): string | undefined {
  return isAscii(bytes.subarray(start, end)) ? bytes.toString("latin1", start, end) : undefined;
}
