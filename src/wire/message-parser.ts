/**
 * Parses the common form of requests and responses: a start line, header fields, and a body of
 * Content-Length octets. Incremental, and the same for every chunking: the start line is judged when
 * it is complete, single octets of the header block when they are seen, field lines and framing when
 * the head is complete. Answers with a fault, after which nothing can be framed.   AGTP "Wire Format"
 */
import { nameText } from "../base/kept-text.ts";
import type { HeaderFields } from "./fields.ts";
import { HeadScanner, ReceiveBuffer, type StartLineRules } from "./head-scanner.ts";
import {
  clip,
  collectFields,
  FieldList,
  isToken,
  quote,
  RepeatedFields,
  SINGLETON_FIELDS,
} from "./header-fields.ts";
import type { Request, WireFault, WireLimits } from "./message.ts";
import { StartLineMemory } from "./start-line-memory.ts";

/** The rules in which requests and responses differ. */
export interface MessageRules<Start extends { readonly kind: string }, Message extends object> {
  readonly startLine: StartLineRules & {
    readonly parse: (line: string) => Start | WireFault;
    /** The same in texts of its own: a piece of a head would keep all of it alive. */
    readonly own: (start: Start) => Start;
  };
  readonly remembered: StartLineMemory<Start>;
  readonly singletons: ReadonlySet<string>;
  /** The message that was framed; the text is its body's, where that is ASCII and short. */
  readonly build: (
    start: Start,
    headers: HeaderFields,
    body: Buffer,
    text: string | undefined,
  ) => Message;
}

/** "idle": no octet of a next message is held; "body": one waits for its body. */
export type ParserPhase = "idle" | "head" | "body" | "failed";

interface Head<Start> {
  readonly kind: "head";
  readonly start: Start;
  readonly headers: HeaderFields;
  readonly contentLength: number;
}

/** Bytes in, messages out; one a connection. After a fault nothing more is read. */
export class MessageParser<Start extends { readonly kind: string }, Message extends object> {
  readonly #rules: MessageRules<Start, Message>;
  readonly #limits: WireLimits;
  readonly #received = new ReceiveBuffer();
  readonly #scanner: HeadScanner;
  readonly #repeated = new RepeatedFields();
  /** Set when the start line was complete before the rest of its head. */
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

  /** Octets that arrived and belong to no message yet handed out. */
  get bufferedBytes(): number {
    return this.#received.length;
  }

  /** Takes a chunk over, without copying it when a message lies in it whole. */
  push(chunk: Buffer): void {
    if (!this.#failed) this.#received.append(chunk);
  }

  /** To be called when no message is complete: lets go of the chunk that the rest came in. */
  detach(): void {
    this.#received.detach();
  }

  /** The next complete message, a fault once, or undefined when more octets are needed. */
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
    const text = this.#received.asciiText(contentLength);
    return this.#rules.build(start, headers, this.#received.take(contentLength), text);
  }

  /**
   * The peer will send no more: a fault if it stopped within a message. Complete messages must have
   * been taken with `next` before.
   */
  end(): WireFault | undefined {
    if (this.#failed || this.phase === "idle") return undefined;
    const message = `the message was cut short in its ${this.phase}`;
    return this.#fail({ kind: "wire-fault", code: "invalid-framing", message });
  }

  /** Reads a head that lies here whole and repeats the fields of the one before; any other is read below. */
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
    // No start line yet: undefined, or a fault within it.
    if (lineLength === undefined) return typeof scanned === "number" ? undefined : scanned;

    // One decoding for a head that lies here whole; else the start line must not wait for the rest.
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

  /** Parses a start line, and remembers one that comes again. */
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

/** The octets of the body that follow a head, or why they cannot be known. */
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
  const message = `body of ${clip(written)} octets exceeds the limit of ${bodyBytes}`;
  return { kind: "wire-fault", code: "body-too-large", message };
}

/** The number that ASCII digits spell; what is absurdly long becomes absurdly large. */
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

/** Tells a fault from the message it stands in for. */
export function isWireFault(value: object): value is WireFault {
  return "kind" in value && value.kind === "wire-fault";
}

/** The three things a request line says. */
interface RequestLine {
  readonly kind: "request-line";
  readonly method: string;
  readonly path: string;
  readonly query: string | undefined;
}

const VERSION = "AGTP/1.0";

/** Any token, then any printable ASCII; but "#" may stand nowhere in the line. */
const REQUEST_LINE = /^AGTP\/1\.0 [!$%&'*+\-.^_`|~0-9A-Za-z]+(?: [\x21\x22\x24-\x7e]+)?$/;

/** Reads a request line without its CRLF, given as latin1. */
function parseRequestLine(line: string): RequestLine | WireFault {
  if (!REQUEST_LINE.test(line)) return invalid(reason(line));
  const start = VERSION.length + 1;
  const space = line.indexOf(" ", start);
  if (space === -1) {
    return { kind: "request-line", method: line.slice(start), path: "/", query: undefined };
  }
  const method = line.slice(start, space);
  const mark = line.indexOf("?", space);
  if (mark === -1) {
    return { kind: "request-line", method, path: line.slice(space + 1), query: undefined };
  }
  const path = line.slice(space + 1, mark);
  return { kind: "request-line", method, path, query: line.slice(mark + 1) };
}

/** Why a line is no request line; the wording is all that is left to decide. */
function reason(line: string): string {
  if (line === "") return "the request line is empty";
  if (!/^[\x20-\x7e]*$/.test(line)) {
    return "the request line has a control or non-ASCII byte, expected printable ASCII";
  }
  if (line.includes("#")) return 'a fragment ("#") may not be sent in a request line';
  const [version = "", method, target, ...rest] = line.split(" ");
  if (version !== VERSION) return `expected ${VERSION} first, got ${quote(version)}`;
  if (method === undefined) return "the request line has no method";
  if (method === "" || rest.length > 0) {
    return "expected two or three tokens with one space between them";
  }
  if (!isToken(method)) return `method ${quote(method)} is not a token`;
  return target === "" ? "the request-target is empty" : "the request line is malformed";
}

function invalid(message: string): WireFault {
  return { kind: "wire-fault", code: "invalid-request-line", message };
}

const REQUEST_RULES: MessageRules<RequestLine, Request> = {
  startLine: {
    name: "request line",
    invalid: "invalid-request-line",
    tooLong: "request-line-too-long",
    parse: parseRequestLine,
    own: ({ kind, method, path, query }) => {
      return {
        kind,
        method: nameText(method),
        path: nameText(path),
        query: query && nameText(query),
      };
    },
  },
  remembered: new StartLineMemory(),
  singletons: SINGLETON_FIELDS,
  build: ({ method, path, query }, headers, body, bodyText) => {
    return { method, path, query, headers, body, bodyText };
  },
};

/**
 * Bytes of a connection to requests: the request line is `AGTP/1.0 METHOD` or `AGTP/1.0 METHOD
 * TARGET`. Whether the method exists and the path is well-formed is for the gates. After a fault
 * nothing more is read: answer it and close.   AGTP-API §6.1
 */
export class RequestParser extends MessageParser<RequestLine, Request> {
  constructor(limits: WireLimits) {
    super(REQUEST_RULES, limits);
  }
}
