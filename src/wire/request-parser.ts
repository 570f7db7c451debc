/**
 * Parses the bytes of a connection into requests: the request line is `AGTP/1.0 METHOD` or
 * `AGTP/1.0 METHOD TARGET`.   AGTP "Wire Format"
 */
import { nameText } from "../base/kept-text.ts";
import type { HeaderFields } from "./fields.ts";
import type { ReceivedText } from "./head-scanner.ts";
import { isToken, quote, SINGLETON_FIELDS } from "./header-fields.ts";
import type { Request, WireFault, WireLimits } from "./message.ts";
import { MessageParser, type MessageRules, StartLineMemory } from "./message-parser.ts";

/** The parts of a request line. */
interface RequestLine {
  readonly kind: "request-line";
  readonly method: string;
  readonly path: string;
  readonly query: string | undefined;
}

const VERSION = "AGTP/1.0";

/** Any token, then any printable ASCII except "#", which must not occur in the line. */
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

/** Returns the reason why a line is invalid, in words. */
function reason(line: string): string {
  if (line === "") return "the request line is empty";
  if (!/^[\x20-\x7e]*$/.test(line)) {
    return "the request line has a control or non-ASCII byte, expected printable ASCII";
  }
  if (line.includes("#")) return 'a fragment ("#") may not be sent in a request line';
  const [version = "", method, _target, ...rest] = line.split(" ");
  if (version !== VERSION) return `expected ${VERSION} first, got ${quote(version)}`;
  if (method === undefined) return "the request line has no method";
  if (method === "" || rest.length > 0) {
    return "expected two or three tokens with one space between them";
  }
  if (!isToken(method)) return `method ${quote(method)} is not a token`;
  return "the request-target is empty";
}

function invalid(message: string): WireFault {
  return { kind: "wire-fault", code: "invalid-request-line", message };
}

/** A request as received; its parts are decoded on demand, since most are not needed. */
class ReceivedRequest implements Request {
  readonly method: string;
  readonly path: string;
  readonly query: string | undefined;
  readonly headers: HeaderFields;
  readonly body: Buffer;
  readonly #text: ReceivedText | undefined;
  readonly #at: number;

  constructor(
    { method, path, query }: RequestLine,
    headers: HeaderFields,
    body: Buffer,
    text: ReceivedText | undefined,
    at: number,
  ) {
    this.method = method;
    this.path = path;
    this.query = query;
    this.headers = headers;
    this.body = body;
    this.#text = text;
    this.#at = at;
  }

  get bodyText(): string | undefined {
    return this.#text?.of(this.#at, this.body.length);
  }
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
  build: (line, headers, body, text, at) => new ReceivedRequest(line, headers, body, text, at),
};

/**
 * Parses the bytes of a connection into requests: the request line is `AGTP/1.0 METHOD` or
 * `AGTP/1.0 METHOD TARGET`. The gates check the method and the path. After a fault nothing more is
 * read: answer it and close.   AGTP-API §6.1
 */
export class RequestParser extends MessageParser<RequestLine, Request> {
  constructor(limits: WireLimits) {
    super(REQUEST_RULES, limits);
  }
}
