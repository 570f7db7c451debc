/**
 * Parses the common form of requests and responses: a start line, header fields, and a body of
 * Content-Length octets. Incremental, and the same for every chunking: the start line is judged when
 * it is complete, single octets of the header block when they are seen, field lines and framing when
 * the head is complete. Answers with a fault, after which nothing can be framed.   AGTP "Wire Format"
 */

import { HeadScanner, type StartLineRules } from "./head-scanner.ts";
import { collectFields, readContentLength } from "./header-fields.ts";
import type { HeaderFields, WireFault, WireLimits } from "./message.ts";
import { ReceiveBuffer } from "./receive-buffer.ts";

/** The rules in which requests and responses differ. */
export interface MessageRules<Start extends { readonly kind: string }> {
  readonly startLine: StartLineRules & { readonly parse: (line: string) => Start | WireFault };
  readonly singletons: ReadonlySet<string>;
}

/** A complete message, as framed. */
export interface FramedMessage<Start> {
  readonly kind: "message";
  readonly start: Start;
  readonly headers: HeaderFields;
  readonly body: Buffer;
}

/** "idle": no octet of a next message is held. */
export type ParserPhase = "idle" | "head" | "body" | "failed";

interface Head<Start> {
  readonly kind: "head";
  readonly start: Start;
  readonly headers: HeaderFields;
  readonly contentLength: number;
}

const MAX_REMEMBERED_HEAD = 1024;

/** Bytes in, messages out. */
export class MessageParser<Start extends { readonly kind: string }> {
  readonly #rules: MessageRules<Start>;
  readonly #limits: WireLimits;
  readonly #received = new ReceiveBuffer();
  readonly #scanner: HeadScanner;
  /** Set when the start line was complete before the rest of its head. */
  #start: Start | undefined;
  /** The start line before, for the peer that repeats itself. */
  #lastLine = "";
  #lastStart: Start | undefined;
  #head: Head<Start> | undefined;
  #failed = false;

  constructor(rules: MessageRules<Start>, limits: WireLimits) {
    this.#rules = rules;
    this.#limits = limits;
    this.#scanner = new HeadScanner(rules.startLine, limits);
  }

  get phase(): ParserPhase {
    if (this.#failed) return "failed";
    if (this.#head !== undefined) return "body";
    return this.#received.length === 0 ? "idle" : "head";
  }

  get bufferedBytes(): number {
    return this.#received.length;
  }

  push(chunk: Buffer): void {
    if (!this.#failed) this.#received.append(chunk);
  }

  next(): FramedMessage<Start> | WireFault | undefined {
    if (this.#head === undefined) {
      const read = this.#received.length === 0 ? undefined : this.#readHead();
      if (read === undefined) return undefined;
      if (read.kind === "wire-fault") return this.#fail(read);
      this.#head = read;
    }
    const { start, headers, contentLength } = this.#head;
    if (this.#received.length < contentLength) return undefined;
    this.#head = undefined;
    return { kind: "message", start, headers, body: this.#received.take(contentLength) };
  }

  end(): WireFault | undefined {
    if (this.#failed || this.phase === "idle") return undefined;
    const message = `the message was cut short in its ${this.phase}`;
    return this.#fail({ kind: "wire-fault", code: "invalid-framing", message });
  }

  #readHead(): Head<Start> | WireFault | undefined {
    const { bytes, start: from, end } = this.#received;
    const scanned = this.#scanner.scan(bytes, from, end);
    const lineLength = this.#scanner.startLineLength;
    // No start line yet: undefined, or a fault within it.
    if (lineLength === undefined) return typeof scanned === "number" ? undefined : scanned;

    // One decoding for a head that lies here whole; else the start line must not wait for the rest.
    const known = this.#start;
    const blockStart = lineLength + 2;
    const headLength = typeof scanned === "number" ? scanned : blockStart;
    const decodeFrom = from + (known === undefined ? 0 : blockStart);
    const text = bytes.toString("latin1", decodeFrom, from + headLength);
    const start = known ?? this.#parseStart(text, lineLength);
    if (isFault(start)) return start;
    this.#start = start;
    if (typeof scanned !== "number") return scanned;
    const block = known === undefined ? text.slice(blockStart) : text;
    return this.#completeHead(start, block, headLength);
  }

  /**
   * Peers that stay connected repeat their start line: what it says, and the hashes of its texts,
   * are known then. Remembered are short heads only, since a piece of a text keeps all of it alive.
   */
  #parseStart(text: string, lineLength: number): Start | WireFault {
    const line = text.slice(0, lineLength);
    if (this.#lastStart !== undefined && line === this.#lastLine) return this.#lastStart;
    const start = this.#rules.startLine.parse(line);
    if (isFault(start) || text.length > MAX_REMEMBERED_HEAD) return start;
    this.#lastLine = line;
    this.#lastStart = start;
    return start;
  }

  #completeHead(start: Start, block: string, length: number): Head<Start> | WireFault {
    const headers = collectFields(this.#scanner.fieldLines, block, this.#rules.singletons);
    if ("kind" in headers) return headers;
    const contentLength = readContentLength(headers, this.#limits.bodyBytes);
    if (typeof contentLength !== "number") return contentLength;
    this.#start = undefined;
    this.#scanner.reset();
    this.#received.skip(length);
    return { kind: "head", start, headers, contentLength };
  }

  #fail(fault: WireFault): WireFault {
    this.#failed = true;
    this.#head = undefined;
    this.#start = undefined;
    this.#lastStart = undefined;
    this.#lastLine = "";
    this.#received.clear();
    return fault;
  }
}

function isFault(value: { readonly kind: string }): value is WireFault {
  return value.kind === "wire-fault";
}
