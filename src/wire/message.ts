/**
 * The two messages of AGTP, as values. A request is what the parser hands to the dispatcher; a
 * response is what the dispatcher hands to the serializer. Neither knows a socket.
 * AGTP "Wire Format"
 */

/** Header fields by lower-case name. Repeated list fields are joined with ", ". */
export interface HeaderFields extends Iterable<readonly [name: string, value: string]> {
  get(name: string): string | undefined;
  has(name: string): boolean;
  readonly size: number;
}

export interface Request {
  /** As on the wire: any RFC 9110 token. A gate decides whether it is a method. */
  readonly method: string;
  /** The request-target up to the first "?", raw; "/" for a two-token request line. */
  readonly path: string;
  /** The raw text behind the first "?"; undefined when there is no "?". */
  readonly query: string | undefined;
  readonly headers: HeaderFields;
  readonly body: Uint8Array;
}

/** One response header field; names are written as given. */
export type HeaderField = readonly [name: string, value: string];

/** Header field lines that are asked for when a response is serialized, each with its CRLF. */
export interface LateFields {
  /** False: not known yet, or never; the response must not leave. */
  readonly isKnown: boolean;
  readonly lines: string;
}

export interface Response {
  readonly status: number;
  /** As the log names this response. */
  readonly responseId: string;
  /**
   * The header field lines as they are sent, each with its CRLF, without Content-Length, which the
   * serializer writes. One text, since every request needs it and nobody takes it apart again.
   */
  readonly fields: string;
  /** Further lines, known only when the response leaves. */
  readonly lateFields?: LateFields | undefined;
  /** A string is sent as UTF-8. Empty for 204. */
  readonly body: string | Uint8Array;
}

/**
 * The bytes are not an AGTP message. Answered with 400 and this code, then the connection closes,
 * because nothing after the fault can be framed.
 */
export interface WireFault {
  readonly kind: "wire-fault";
  readonly code: WireFaultCode;
  readonly message: string;
}

export type WireFaultCode =
  | "invalid-request-line"
  | "request-line-too-long"
  | "invalid-wire-format"
  | "header-too-large"
  | "invalid-framing"
  | "body-too-large"
  | "request-timeout";

/** The limits of `[limits]` that the parser enforces; all in octets but headerCount. */
export interface WireLimits {
  /** The request line without its CRLF. */
  readonly requestLineBytes: number;
  /** All header field lines with their CRLFs, without the empty line. */
  readonly headerBytes: number;
  readonly headerCount: number;
  readonly bodyBytes: number;
}

/** The bounds of one response that a client reads. */
export interface ResponseLimits {
  /** The status line, and again the header block. */
  readonly headBytes: number;
  readonly bodyBytes: number;
}
