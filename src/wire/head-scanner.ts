/**
 * Finds the lines of a head, and the name and value of each field line, in bytes that arrive in
 * pieces. It reads each octet once, and enforces everything that depends on single octets: only
 * CRLF ends a line, names are tokens, there are no control bytes, and the limits hold. The result
 * depends on the octets up to the deciding one, never on the chunking:
 *
 * - the start line is too long at its first octet beyond the limit that is neither CR nor LF;
 * - the header block is too large at the first octet of a field line that leaves no room for the
 *   line's CRLF within `headerBytes`, or that begins one field more than `headerCount`;
 * - a bare LF is a fault at the LF, a bare CR at the octet after it.   AGTP "Wire Format"
 */
import { Buffer, isAscii } from "node:buffer";
import { type FieldLine, knownFieldName } from "./header-fields.ts";
import type { WireFault, WireFaultCode, WireLimits } from "./message.ts";

const EMPTY: Buffer = Buffer.alloc(0);
const MIN_CAPACITY = 1024;

/**
 * The received octets that are not taken yet, as one range. A chunk that is taken whole is never
 * copied. Octets that wait for more are copied into a buffer that grows by doubling, so that n
 * octets cost O(n) for any chunking, and at most about twice the received octets are held. Owned by
 * one parser, which reads `bytes` from `start` to `end`.
 */
export class ReceiveBuffer {
  bytes: Buffer = EMPTY;
  start = 0;
  end = 0;
  /** The decoded text of some octets of `bytes`. */
  #text: ReceivedText | undefined;

  get length(): number {
    return this.end - this.start;
  }

  /** Takes a chunk over; its owner must not write to it again. */
  append(chunk: Buffer): void {
    if (this.start === this.end) {
      this.bytes = chunk;
      this.end = chunk.length;
      return;
    }
    // A chunk that was taken over leaves no room behind it.
    if (this.bytes.length - this.end < chunk.length) this.#grow(chunk.length);
    chunk.copy(this.bytes, this.end);
    this.end += chunk.length;
  }

  /** Removes the next octets. The view stays valid, since taken octets are never overwritten. */
  take(length: number): Buffer {
    const taken = length === 0 ? EMPTY : this.bytes.subarray(this.start, this.start + length);
    this.skip(length);
    return taken;
  }

  /** Returns the decoder of the next octets, which are located by their offset in `bytes`. */
  textOf(length: number): ReceivedText {
    const { start } = this;
    if (this.#text?.reaches(start + length) === true) return this.#text;
    this.#text = new ReceivedText(this.bytes, start, this.end);
    return this.#text;
  }

  /** Drops the next octets. */
  skip(length: number): void {
    this.start += length;
    // An idle connection holds no buffer.
    if (this.start === this.end) this.clear();
  }

  /** Copies the waiting octets if they would keep alive a buffer of more than about twice their size. */
  detach(): void {
    const room = MIN_CAPACITY + 2 * this.length;
    if (this.bytes.buffer.byteLength > room) this.#grow(0);
  }

  clear(): void {
    this.bytes = EMPTY;
    this.start = 0;
    this.end = 0;
    this.#text = undefined;
  }

  #grow(room: number): void {
    const used = this.length;
    const grown = Buffer.allocUnsafeSlow(Math.max(MIN_CAPACITY, 2 * (used + room)));
    this.bytes.copy(grown, 0, this.start, this.end);
    this.bytes = grown;
    this.start = 0;
    this.end = used;
    this.#text = undefined;
  }
}

/** The name of a start line and the codes of its faults. */
export interface StartLineRules {
  readonly name: string;
  readonly invalid: WireFaultCode;
  readonly tooLong: WireFaultCode;
}

const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const COLON = 0x3a;
const DELETE = 0x7f;

/** A table with 1 for each octet of an RFC 9110 token. */
const IS_TOKEN: Uint8Array = Uint8Array.from({ length: 256 }, (_, octet) =>
  /[!#$%&'*+\-.^_`|~0-9A-Za-z]/.test(String.fromCharCode(octet)) ? 1 : 0,
);

/** Scans the heads of one parser's messages; `reset` separates them. */
export class HeadScanner {
  readonly #rules: StartLineRules;
  readonly #limits: WireLimits;
  #scanned = 0;
  #lineStart = 0;
  /** The maximum number of octets in this line before its CR. */
  #room: number;
  /** The length of this field line's name; 0 before its colon. */
  #nameLength = 0;

  /** The length of the start line without CRLF; undefined before its CRLF. */
  startLineLength: number | undefined;
  fieldLines: FieldLine[] = [];

  constructor(rules: StartLineRules, limits: WireLimits) {
    this.#rules = rules;
    this.#limits = limits;
    this.#room = limits.requestLineBytes;
  }

  /**
   * Continues the last scan. Returns the length of the head with its empty line, a fault, or
   * undefined if more octets are needed.
   */
  scan(bytes: Uint8Array, start: number, end: number): number | WireFault | undefined {
    let at = start + this.#scanned;
    for (;;) {
      const lineStart = start + this.#lineStart;
      const inName = this.#nameLength === 0 && this.startLineLength !== undefined;
      const stop = Math.min(end, lineStart + this.#room + 1);
      at = inName ? skipToken(bytes, at, stop) : skipText(bytes, at, stop);
      if (at - lineStart > this.#room) return this.#tooLarge();
      if (at === end) break;
      const octet = bytes[at]!;
      if (inName && at > lineStart) {
        if (octet !== COLON) return this.#badName(bytes, lineStart, at);
        this.#nameLength = at - lineStart;
        at += 1;
      } else if (octet === TAB && !inName) {
        at += 1;
      } else {
        if (octet !== CR) return this.#badOctet(octet);
        if (at + 1 === end) break;
        if (bytes[at + 1] !== LF) return this.#badOctet(octet);
        if (inName) return at + 2 - start;
        this.#endLine(bytes, start, at);
        at += 2;
      }
    }
    this.#scanned = at - start;
    return undefined;
  }

  /** Returns the length of a start line that is complete and not scanned yet; undefined for any other. */
  measureLine(bytes: Uint8Array, start: number, end: number): number | undefined {
    if (this.#scanned > 0) return undefined;
    const at = skipText(bytes, start, Math.min(end, start + this.#room));
    return bytes[at] === CR && at + 1 < end && bytes[at + 1] === LF ? at - start : undefined;
  }

  /** Resets the scanner for the next message. */
  reset(): void {
    this.#scanned = 0;
    this.#lineStart = 0;
    this.#room = this.#limits.requestLineBytes;
    this.#nameLength = 0;
    this.startLineLength = undefined;
    this.fieldLines = [];
  }

  #endLine(bytes: Uint8Array, start: number, end: number): void {
    if (this.startLineLength === undefined) this.startLineLength = end - start;
    else this.#endFieldLine(bytes, start, end);
    this.#nameLength = 0;
    this.#lineStart = end + 2 - start;
    const block = this.#lineStart - (this.startLineLength + 2);
    const full = this.fieldLines.length >= this.#limits.headerCount;
    // Without room, the line can only be the empty one, which does not count.
    this.#room = full ? 0 : Math.max(0, this.#limits.headerBytes - 2 - block);
  }

  #endFieldLine(bytes: Uint8Array, start: number, end: number): void {
    const nameStart = start + this.#lineStart;
    const nameEnd = nameStart + this.#nameLength;
    let valueStart = nameEnd + 1;
    let valueEnd = end;
    while (valueStart < valueEnd && isBlank(bytes[valueStart]!)) valueStart += 1;
    while (valueEnd > valueStart && isBlank(bytes[valueEnd - 1]!)) valueEnd -= 1;
    const block = start + this.startLineLength! + 2;
    this.fieldLines.push({
      knownName: knownFieldName(bytes, nameStart, nameEnd),
      nameStart: nameStart - block,
      nameEnd: nameEnd - block,
      valueStart: valueStart - block,
      valueEnd: valueEnd - block,
    });
  }

  #tooLarge(): WireFault {
    const { requestLineBytes, headerBytes, headerCount } = this.#limits;
    if (this.startLineLength === undefined) {
      const message = `the ${this.#rules.name} exceeds the limit of ${requestLineBytes} octets`;
      return fault(this.#rules.tooLong, message);
    }
    const message =
      this.fieldLines.length >= headerCount
        ? `the head exceeds the limit of ${headerCount} header fields`
        : `the header block exceeds the limit of ${headerBytes} octets`;
    return fault("header-too-large", message);
  }

  #badName(bytes: Uint8Array, from: number, to: number): WireFault {
    const octet = bytes[to]!;
    if (octet === LF) return this.#badOctet(octet);
    const name = String.fromCharCode(...bytes.subarray(from, Math.min(to, from + 40)));
    const expected = octet === CR ? "no colon" : "a name that is not a token followed by a colon";
    return fault("invalid-wire-format", `the header line that begins "${name}" has ${expected}`);
  }

  #badOctet(octet: number): WireFault {
    const inStartLine = this.startLineLength === undefined;
    const place = inStartLine ? this.#rules.name : "header block";
    const code = inStartLine ? this.#rules.invalid : "invalid-wire-format";
    if (octet === LF) return fault(code, `bare LF in the ${place}, expected CRLF`);
    if (octet === CR) return fault(code, `bare CR in the ${place}, expected CRLF`);
    if (!inStartLine && isBlank(octet)) {
      return fault(code, "a header line begins with white space, folding is not part of AGTP");
    }
    if (octet < SPACE || octet === DELETE) return fault(code, `control byte in the ${place}`);
    return fault(code, "a header line begins with no name, expected a token and a colon");
  }
}

function skipToken(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to && IS_TOKEN[bytes[at]!] === 1) at += 1;
  return at;
}

function skipText(bytes: Uint8Array, from: number, to: number): number {
  let at = from;
  while (at < to) {
    const octet = bytes[at]!;
    if (octet < SPACE || octet === DELETE) break;
    at += 1;
  }
  return at;
}

function isBlank(octet: number): boolean {
  return octet === SPACE || octet === TAB;
}

function fault(code: WireFaultCode, message: string): WireFault {
  return { kind: "wire-fault", code, message };
}

/** The maximum length of octets that are decoded together; a longer body is decoded by its reader. */
export const MAX_TEXT_LENGTH: number = 16 * 1024;

/**
 * Octets that arrived together, decoded together on first use: each of 16 requests gets cheaper by
 * a thirtieth. A request that is refused before its body is read decodes nothing.
 */
export class ReceivedText {
  readonly #bytes: Buffer;
  readonly #start: number;
  readonly #end: number;
  /** The text; undefined before it is decoded, and for octets that are not ASCII. */
  #text: string | undefined;
  #isDecoded = false;

  constructor(bytes: Buffer, start: number, end: number) {
    this.#bytes = bytes;
    this.#start = start;
    this.#end = Math.min(end, start + MAX_TEXT_LENGTH);
  }

  /** Tells whether a body that ends at this offset lies within these octets. */
  reaches(end: number): boolean {
    return end <= this.#end;
  }

  /** Returns the text of a body; undefined if it is not ASCII. */
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
