/**
 * Writes protobuf messages field by field. A field begins with its tag: its number and its wire type.   protobuf
 * "Encoding"
 */

/** Wire types. */
const VARINT = 0;
const FIXED64 = 1;
const LENGTH = 2;
const FIXED32 = 5;

const MORE = 0x80;
const LOW_BITS = 0x7f;
const TWO_32 = 2 ** 32;
const INITIAL_BYTES = 16_384;
/** The longest varint: 64 bits, seven an octet. */
const NUMBER_BYTES = 10;

/** The value of a hex digit by its character code. */
const NIBBLES = new Uint8Array(128);
for (const [value, digit] of [..."0123456789abcdef"].entries()) {
  NIBBLES[digit.charCodeAt(0)] = value;
  NIBBLES[digit.toUpperCase().charCodeAt(0)] = value;
}

export class ProtobufOctets {
  #octets: Buffer;
  #length = 0;

  constructor(initialBytes: number = INITIAL_BYTES) {
    // Not from the pool, since the buffer may be transferred to another thread.
    this.#octets = Buffer.allocUnsafeSlow(initialBytes);
  }

  get length(): number {
    return this.#length;
  }

  /** The written octets, without a copy. */
  get written(): Uint8Array<ArrayBuffer> {
    return this.#octets.subarray(0, this.#length) as Uint8Array<ArrayBuffer>;
  }

  /** Writes a non-negative integer. */
  number(field: number, value: number): void {
    this.#reserve(2 * NUMBER_BYTES);
    this.#tag(field, VARINT);
    this.#varint(value);
  }

  /** Writes a signed integer; a negative one takes ten octets. */
  signed(field: number, value: number): void {
    if (value >= 0) {
      this.number(field, value);
      return;
    }
    this.#reserve(2 * NUMBER_BYTES);
    this.#tag(field, VARINT);
    let bits = BigInt.asUintN(64, BigInt(value));
    for (; bits > 0x7fn; bits >>= 7n) this.#octet(Number(bits & 0x7fn) | MORE);
    this.#octet(Number(bits));
  }

  double(field: number, value: number): void {
    this.#reserve(2 * NUMBER_BYTES);
    this.#tag(field, FIXED64);
    this.#length = this.#octets.writeDoubleLE(value, this.#length);
  }

  word(field: number, value: number): void {
    this.#reserve(2 * NUMBER_BYTES);
    this.#tag(field, FIXED32);
    this.#word(value);
  }

  /** Writes a time in nanoseconds since the epoch, given in milliseconds with their fractions. */
  time(field: number, ms: number): void {
    this.#reserve(2 * NUMBER_BYTES);
    this.#tag(field, FIXED64);
    // Nanoseconds exceed a number's precision, so they are computed in two halves.
    const whole = Math.floor(ms);
    const high = Math.floor(whole / 2 ** 20) * 1_000_000;
    const low = (whole % 2 ** 20) * 1_000_000 + Math.floor((ms - whole) * 1_000_000);
    const sum = (high % 2 ** 12) * 2 ** 20 + low;
    this.#word(sum % TWO_32);
    this.#word(Math.floor(high / 2 ** 12) + Math.floor(sum / TWO_32));
  }

  /** Writes octets given as hex digits. */
  hex(field: number, digits: string): void {
    const length = digits.length >>> 1;
    this.#reserve(2 * NUMBER_BYTES + length);
    this.#tag(field, LENGTH);
    this.#varint(length);
    const octets = this.#octets;
    let to = this.#length;
    for (let at = 0; at < digits.length; at += 2) {
      octets[to] = (nibble(digits, at) << 4) | nibble(digits, at + 1);
      to += 1;
    }
    this.#length = to;
  }

  text(field: number, text: string): void {
    this.#reserve(2 * NUMBER_BYTES + 3 * text.length);
    this.#tag(field, LENGTH);
    const start = this.#length;
    this.#varint(text.length);
    const octets = this.#octets;
    const to = this.#length;
    for (let at = 0; at < text.length; at += 1) {
      const code = text.charCodeAt(at);
      if (code > LOW_BITS) {
        this.#length = start;
        this.#utf8(text);
        return;
      }
      octets[to + at] = code;
    }
    this.#length = to + text.length;
  }

  /** Writes already encoded fields. */
  fields(octets: Uint8Array): void {
    this.#reserve(octets.length);
    this.#octets.set(octets, this.#length);
    this.#length += octets.length;
  }

  /** Begins a nested message; returns its start, which `end` takes. */
  begin(field: number): number {
    this.#reserve(2 * NUMBER_BYTES);
    this.#tag(field, LENGTH);
    this.#length += 1;
    return this.#length;
  }

  end(start: number): void {
    const length = this.#length - start;
    if (length <= LOW_BITS) {
      this.#octets[start - 1] = length;
      return;
    }
    this.#reserve(NUMBER_BYTES);
    let more = 0;
    for (let left = length >>> 7; left > 0; left >>>= 7) more += 1;
    this.#octets.copyWithin(start + more, start, this.#length);
    this.#length = start - 1;
    this.#varint(length);
    this.#length += length;
  }

  #utf8(text: string): void {
    this.#varint(Buffer.byteLength(text));
    this.#length += this.#octets.write(text, this.#length);
  }

  #tag(field: number, form: number): void {
    this.#varint((field << 3) | form);
  }

  #varint(value: number): void {
    if (value <= LOW_BITS) {
      this.#octet(value);
      return;
    }
    let left = value;
    for (; left > LOW_BITS; left = Math.floor(left / MORE)) this.#octet((left % MORE) | MORE);
    this.#octet(left);
  }

  #word(value: number): void {
    this.#octet(value);
    this.#octet(value >>> 8);
    this.#octet(value >>> 16);
    this.#octet(value >>> 24);
  }

  #octet(value: number): void {
    this.#octets[this.#length] = value;
    this.#length += 1;
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes;
    if (needed <= this.#octets.length) return;
    const octets = Buffer.allocUnsafeSlow(Math.max(needed, 2 * this.#octets.length));
    octets.set(this.written);
    this.#octets = octets;
  }
}

function nibble(digits: string, at: number): number {
  return NIBBLES[digits.charCodeAt(at)] ?? 0;
}
