/**
 * Parses the common form of requests and responses: a start line, header fields, and a body of
 * Content-Length octets. It is incremental and gives the same result for every chunking: the start
 * line is checked when it is complete, octets of the header block as they are scanned, and field
 * lines and framing when the head is complete. After a fault nothing can be framed.   AGTP "Wire
 * Format"
 */
import { clip } from "../base/json-value.ts";
import type { HeaderFields } from "./fields.ts";
import {
  HeadScanner,
  MAX_TEXT_LENGTH,
  ReceiveBuffer,
  type ReceivedText,
  type StartLineRules,
} from "./head-scanner.ts";
import {
  collectFields,
  FieldList,
  MAX_QUOTED_LENGTH,
  quote,
  RepeatedFields,
} from "./header-fields.ts";
import type { WireFault, WireLimits } from "./message.ts";

/** The rules that differ between requests and responses. */
export interface MessageRules<Start extends { readonly kind: string }, Message extends object> {
  readonly startLine: StartLineRules & {
    readonly parse: (line: string) => Start | WireFault;
    /** Returns a copy in texts of its own, since a slice would keep the whole head alive. */
    readonly own: (start: Start) => Start;
  };
  readonly remembered: StartLineMemory<Start>;
  readonly singletons: ReadonlySet<string>;
  /** Builds a framed message; `at` is where its body begins in `text`, which a long body lacks. */
  readonly build: (
    start: Start,
    headers: HeaderFields,
    body: Buffer,
    text: ReceivedText | undefined,
    at: number,
  ) => Message;
}

/** The state between octets: "idle" holds none of a next message, "body" waits for a message's body. */
type ParserPhase = "idle" | "head" | "body" | "failed";

interface Head<Start> {
  readonly kind: "head";
  readonly start: Start;
  readonly headers: HeaderFields;
  readonly contentLength: number;
}

/** Parses the bytes of one connection into messages. After a fault nothing more is read. */
export class MessageParser<Start extends { readonly kind: string }, Message extends object> {
  readonly #rules: MessageRules<Start, Message>;
  readonly #limits: WireLimits;
  readonly #received = new ReceiveBuffer();
  readonly #scanner: HeadScanner;
  readonly #repeated = new RepeatedFields();
  /** The start line, if it was complete before the rest of its head. */
  #start: Start | undefined;
  #head: Head<Start> | undefined;
  #failed = false;

  constructor(rules: MessageRules<Start, Message>, limits: WireLimits) {
    this.#rules = rules;
    this.#limits = limits;
    this.#scanner = new HeadScanner(rules.startLine, limits);
  }

  get phase(): ParserPhase {
    if (this.#failed) return "failed";
    if (this.#head !== undefined) return "body";
    return this.#received.length === 0 ? "idle" : "head";
  }

  /** The number of received octets that belong to no returned message. */
  get bufferedBytes(): number {
    return this.#received.length;
  }

  /** Takes over a chunk; a message that lies in it whole is not copied. */
  push(chunk: Buffer): void {
    if (!this.#failed) this.#received.append(chunk);
  }

  /** Releases the last chunk if it is large; called when no message is complete. */
  detach(): void {
    this.#received.detach();
  }

  /** Returns the next complete message, a fault once, or undefined if more octets are needed. */
  next(): Message | WireFault | undefined {
    if (this.#head === undefined) {
      const read =
        this.#received.length === 0 ? undefined : (this.#readRepeated() ?? this.#readHead());
      if (read === undefined) return undefined;
      if (isWireFault(read)) return this.#fail(read);
      this.#head = read;
    }
    const { start, headers, contentLength } = this.#head;
    if (this.#received.length < contentLength) return undefined;
    this.#head = undefined;
    const { start: at } = this.#received;
    const hasText = contentLength > 0 && contentLength <= MAX_TEXT_LENGTH;
    const text = hasText ? this.#received.textOf(contentLength) : undefined;
    return this.#rules.build(start, headers, this.#received.take(contentLength), text, at);
  }

  /**
   * Ends the input; returns a fault if it stopped within a message. Complete messages must have
   * been taken with `next` before.
   */
  end(): WireFault | undefined {
    if (this.#failed || this.phase === "idle") return undefined;
    const message = `the message was cut short in its ${this.phase}`;
    return this.#fail({ kind: "wire-fault", code: "invalid-framing", message });
  }

  /** Reads a complete head that repeats the last one's fields; `#readHead` reads any other. */
  #readRepeated(): Head<Start> | WireFault | undefined {
    if (!this.#repeated.isKnown) return undefined;
    const { bytes, start: from, end } = this.#received;
    const length = this.#scanner.measureLine(bytes, from, end);
    if (length === undefined) return undefined;
    const known = this.#repeated.find(bytes, from + length + 2, end);
    if (known === undefined) return undefined;
    const start =
      this.#rules.remembered.find(bytes, from, length) ??
      this.#parseStart(bytes.toString("latin1", from, from + length), length);
    if (isWireFault(start)) return start;
    const { octets, headers, contentLength } = known;
    this.#received.skip(length + 2 + octets.length);
    return { kind: "head", start, headers, contentLength };
  }

  #readHead(): Head<Start> | WireFault | undefined {
    const { bytes, start: from, end } = this.#received;
    const scanned = this.#scanner.scan(bytes, from, end);
    const lineLength = this.#scanner.startLineLength;
    // Without a complete start line, returns undefined or its fault.
    if (lineLength === undefined) return typeof scanned === "number" ? undefined : scanned;

    // A complete head is decoded at once, but the start line must not wait for the rest.
    const known = this.#start ?? this.#rules.remembered.find(bytes, from, lineLength);
    const blockStart = lineLength + 2;
    const headLength = typeof scanned === "number" ? scanned : blockStart;
    const decodeFrom = from + (known === undefined ? 0 : blockStart);
    const text = bytes.toString("latin1", decodeFrom, from + headLength);
    const start = known ?? this.#parseStart(text, lineLength);
    if (isWireFault(start)) return start;
    this.#start = start;
    if (typeof scanned !== "number") return scanned;
    const block = known === undefined ? text.slice(blockStart) : text;
    return this.#completeHead(start, block, headLength);
  }

  /** Parses a start line, and remembers a repeated one. */
  #parseStart(text: string, length: number): Start | WireFault {
    const { startLine, remembered } = this.#rules;
    const { bytes, start: from } = this.#received;
    const start = startLine.parse(text.slice(0, length));
    if (isWireFault(start) || !remembered.note(bytes, from, length)) return start;
    const own = startLine.own(start);
    remembered.keep(bytes, from, length, own);
    return own;
  }

  #completeHead(start: Start, block: string, length: number): Head<Start> | WireFault {
    const headers = collectFields(this.#scanner.fieldLines, block, this.#rules.singletons);
    if (isWireFault(headers)) return headers;
    const contentLength = readContentLength(headers, this.#limits.bodyBytes);
    if (typeof contentLength !== "number") return contentLength;
    this.#start = undefined;
    const { bytes, start: from } = this.#received;
    const blockStart = from + this.#scanner.startLineLength! + 2;
    if (headers instanceof FieldList) {
      this.#repeated.note([bytes, blockStart, from + length], headers, contentLength);
    }
    this.#scanner.reset();
    this.#received.skip(length);
    return { kind: "head", start, headers, contentLength };
  }

  #fail(fault: WireFault): WireFault {
    this.#failed = true;
    this.#head = undefined;
    this.#start = undefined;
    this.#received.clear();
    return fault;
  }
}

/** Returns the length of the body that follows a head, or a fault. */
function readContentLength(fields: HeaderFields, bodyBytes: number): number | WireFault {
  if (fields.has("transfer-encoding")) {
    return framing("Transfer-Encoding is not part of AGTP, expected Content-Length");
  }
  const written = fields.get("content-length");
  if (written === undefined) return 0;
  const length = readDigits(written);
  if (length === undefined) {
    return framing(`Content-Length ${quote(written)} is not a sequence of digits`);
  }
  if (length <= bodyBytes) return length;
  const shown = clip(written, MAX_QUOTED_LENGTH);
  const message = `body of ${shown} octets exceeds the limit of ${bodyBytes}`;
  return { kind: "wire-fault", code: "body-too-large", message };
}

/** Parses ASCII digits; a very long number becomes a very large one. */
function readDigits(text: string): number | undefined {
  let value = 0;
  for (let at = 0; at < text.length; at += 1) {
    const digit = text.charCodeAt(at) - 0x30;
    if (digit < 0 || digit > 9) return undefined;
    value = value * 10 + digit;
  }
  return text === "" ? undefined : value;
}

function framing(message: string): WireFault {
  return { kind: "wire-fault", code: "invalid-framing", message };
}

/** Tells a fault from a message. */
export function isWireFault(value: object): value is WireFault {
  return "kind" in value && value.kind === "wire-fault";
}

const PLACES = 256;
const MAX_LENGTH = 128;

/**
 * Remembers the parsed form of repeated start lines, with texts whose hashes are known. Lines are
 * compared as octets in place: a known one is never decoded, and one that is always new costs
 * little more. Direct-mapped by length and last octets: a new line overwrites the old one in its
 * slot. Shared by all parsers of a kind.
 */
export class StartLineMemory<Start> {
  readonly #octets = new Uint8Array(PLACES * MAX_LENGTH);
  readonly #lengths = new Uint8Array(PLACES);
  readonly #starts = new Array<Start | undefined>(PLACES).fill(undefined);

  /** Returns the parsed form of the line at `from`; undefined if it is unknown. */
  find(bytes: Uint8Array, from: number, length: number): Start | undefined {
    const place = placeOf(bytes, from, length);
    return this.#isAt(place, bytes, from, length) ? this.#starts[place] : undefined;
  }

  /** Notes a line; true if its slot already had it, so that its parsed form is worth keeping. */
  note(bytes: Uint8Array, from: number, length: number): boolean {
    const place = placeOf(bytes, from, length);
    if (length > MAX_LENGTH) return false;
    if (this.#isAt(place, bytes, from, length)) return true;
    const base = place * MAX_LENGTH;
    for (let at = 0; at < length; at += 1) this.#octets[base + at] = bytes[from + at]!;
    this.#lengths[place] = length;
    this.#starts[place] = undefined;
    return false;
  }

  /** Keeps the parsed form of a noted line, in texts of its own. */
  keep(bytes: Uint8Array, from: number, length: number, start: Start): void {
    this.#starts[placeOf(bytes, from, length)] = start;
  }

  /** Compares from the end, where lines of the same slot differ first. */
  #isAt(place: number, bytes: Uint8Array, from: number, length: number): boolean {
    if (this.#lengths[place] !== length) return false;
    const octets = this.#octets;
    const base = place * MAX_LENGTH;
    for (let at = length - 1; at >= 0; at -= 1) {
      if (octets[base + at] !== bytes[from + at]) return false;
    }
    return true;
  }
}

function placeOf(bytes: Uint8Array, from: number, length: number): number {
  const end = from + length;
  // A line that is too short yields NaN, which becomes slot 0.
  return (
    ((length * 31 + bytes[end - 1]! * 7 + bytes[end - 2]! * 3 + bytes[end - 5]!) >>> 0) % PLACES
  );
}
