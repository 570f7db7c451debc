/**
 * Bytes of a connection to requests. Refuses with a fault what is no AGTP request; everything that
 * depends on what the server serves passes through to the gates.   AGTP "Wire Format"
 */

import { SINGLETON_FIELDS } from "./header-fields.ts";
import type { Request, WireFault, WireLimits } from "./message.ts";
import { MessageParser, type MessageRules, type ParserPhase } from "./message-parser.ts";
import { parseRequestLine, type RequestLine } from "./request-line.ts";

const REQUEST_RULES: MessageRules<RequestLine> = {
  startLine: {
    name: "request line",
    invalid: "invalid-request-line",
    tooLong: "request-line-too-long",
    parse: parseRequestLine,
  },
  singletons: SINGLETON_FIELDS,
};

/** One a connection. After a fault nothing more is read: answer it and close. */
export class RequestParser {
  readonly #parser: MessageParser<RequestLine>;

  constructor(limits: WireLimits) {
    this.#parser = new MessageParser(REQUEST_RULES, limits);
  }

  /** "idle" when no octet of a next request is held; "body" when one waits for its body. */
  get phase(): ParserPhase {
    return this.#parser.phase;
  }

  /** Octets that arrived and belong to no request yet handed out. */
  get bufferedBytes(): number {
    return this.#parser.bufferedBytes;
  }

  /** Takes a chunk over, without copying it when a request lies in it whole. */
  push(chunk: Buffer): void {
    this.#parser.push(chunk);
  }

  /** The next complete request, a fault once, or undefined when more octets are needed. */
  next(): Request | WireFault | undefined {
    const message = this.#parser.next();
    if (message === undefined || message.kind === "wire-fault") return message;
    const { start, headers, body } = message;
    return { method: start.method, path: start.path, query: start.query, headers, body };
  }

  /**
   * The peer will send no more: a fault if it stopped within a request. Complete requests must have
   * been taken with `next` before.
   */
  end(): WireFault | undefined {
    return this.#parser.end();
  }
}
