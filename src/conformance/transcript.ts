/**
 * The transcript format: exchanges with an AGTP server, as a text file that is read top to bottom.
 * Decides what bytes are sent and what is expected of the answers; a file that breaks the format is
 * answered with problems.
 *
 *     # AGTP-API §5.1                      comments first; the first one names the clause
 *     # config: closed                     the server's configuration, when it is not the default one
 *     AGTP/1.0 QUERY /rooms                a request: LF stands for CRLF in its head, and the empty
 *     Content-Length: {length}             line after a head may be left out where no body follows
 *
 *     {"city": "Oslo"}
 *     ----------
 *     AGTP/1.0 200 OK                      the response: every header field and the whole body;
 *     Response-ID: {uuid}                  `response-pattern.ts` has the placeholders
 *
 *     {"rooms": []}
 *     ==========                           the next exchange, on the same connection
 *
 * `\xNN` is one octet, in a head or a body. A request that ends in the line `{end}` is cut off there,
 * and the client ends its side. A response that ends in the line `{close}` is the last one: the
 * server closes the connection.
 */
import type { Problem } from "../problem.ts";
import { type ExpectedResponse, parseExpectedResponse } from "./response-pattern.ts";

/** A whole file. */
export interface Transcript {
  /** The file's name without folder and suffix. */
  readonly name: string;
  /** The clause, as the first comment says it. */
  readonly clause: string;
  /** Name of the server configuration that the exchanges are written for; "" is the default one. */
  readonly config: string;
  readonly exchanges: readonly TranscriptExchange[];
}

/** One request, and the response it is to get. */
export interface TranscriptExchange {
  /** Line of the request in the file, from 1. */
  readonly line: number;
  readonly request: Buffer;
  /** The client sends no more after this request. */
  readonly isEnded: boolean;
  /** Undefined: nothing is answered. */
  readonly response: ExpectedResponse | undefined;
  /** The server closes the connection after this response. */
  readonly isClosed: boolean;
}

/** A transcript, unless the file breaks the format. */
export interface TranscriptResult {
  readonly transcript: Transcript | undefined;
  readonly problems: readonly Problem[];
}

const NEXT_EXCHANGE = "==========";
const ANSWER = "----------";
const END = "{end}";
const CLOSE = "{close}";

/** Reads the text of a transcript; problems name it `file`. */
export function parseTranscript(text: string, file: string): TranscriptResult {
  const lines = text.replace(/\r\n/g, "\n").replace(/\n$/, "").split("\n");
  const start = lines.findIndex((line) => !line.startsWith("#"));
  const comments = lines.slice(0, start === -1 ? lines.length : start).map(commentText);
  const problems: Problem[] = [];
  const report = (line: number, message: string): void => {
    problems.push({ file, key: `line ${line}`, message });
  };
  const [clause = ""] = comments;
  if (clause === "") report(1, "the first line must be a comment that names the clause");
  const exchanges = splitExchanges(lines, comments.length).flatMap((part) => {
    const exchange = parseExchange(part, report);
    return exchange === undefined ? [] : [exchange];
  });
  for (const { line, isClosed, isEnded } of exchanges.slice(0, -1)) {
    if (isClosed || isEnded) report(line, "only the last exchange may end the connection");
  }
  if (problems.length > 0) return { transcript: undefined, problems };
  const name = file.replace(/^.*\//, "").replace(/\.agtp$/, "");
  return { transcript: { name, clause, config: configOf(comments), exchanges }, problems };
}

function commentText(line: string): string {
  return line.slice(1).trim();
}

function configOf(comments: readonly string[]): string {
  const named = comments.find((comment) => comment.startsWith("config:"));
  return named === undefined ? "" : named.slice("config:".length).trim();
}

interface Part {
  readonly line: number;
  readonly lines: readonly string[];
}

function splitExchanges(lines: readonly string[], from: number): readonly Part[] {
  const parts: Part[] = [];
  let start = from;
  for (let at = from; at <= lines.length; at += 1) {
    if (at < lines.length && lines[at] !== NEXT_EXCHANGE) continue;
    parts.push({ line: start + 1, lines: lines.slice(start, at) });
    start = at + 1;
  }
  return parts;
}

function parseExchange(
  { line, lines }: Part,
  report: (line: number, message: string) => void,
): TranscriptExchange | undefined {
  const split = lines.indexOf(ANSWER);
  if (split === -1 || lines.indexOf(ANSWER, split + 1) !== -1) {
    report(line, `an exchange is a request, one line ${ANSWER} and a response`);
    return undefined;
  }
  const asked = withoutLast(lines.slice(0, split), END);
  const answered = withoutLast(lines.slice(split + 1), CLOSE);
  const exchange = {
    line,
    request: encodeRequest(asked.lines, asked.isPresent),
    isEnded: asked.isPresent,
    isClosed: answered.isPresent,
  };
  if (answered.lines.length === 0 && answered.isPresent) {
    return { ...exchange, response: undefined };
  }
  const { response, fault } = parseExpectedResponse(answered.lines);
  if (fault !== undefined) report(line + split + 1, fault);
  return response && { ...exchange, response };
}

function withoutLast(
  lines: readonly string[],
  word: string,
): { readonly lines: readonly string[]; readonly isPresent: boolean } {
  const isPresent = lines.at(-1) === word;
  return { lines: isPresent ? lines.slice(0, -1) : lines, isPresent };
}

/** A head that is cut off is not completed. */
function encodeRequest(lines: readonly string[], isCut: boolean): Buffer {
  const blank = lines.indexOf("");
  const head = blank === -1 ? lines : lines.slice(0, blank);
  const body = decodeEscapes(blank === -1 ? "" : lines.slice(blank + 1).join("\n"));
  const fields = head.map((line) => `${line.replaceAll("{length}", String(body.length))}\r\n`);
  const isComplete = blank !== -1 || !isCut;
  return Buffer.concat([decodeEscapes(fields.join("") + (isComplete ? "\r\n" : "")), body]);
}

/** UTF-8, but `\xNN` is the octet itself. */
function decodeEscapes(text: string): Buffer {
  const pieces = text.split(/\\x([0-9A-Fa-f]{2})/);
  return Buffer.concat(
    pieces.map((piece, index) =>
      index % 2 === 0 ? Buffer.from(piece, "utf8") : Buffer.of(Number.parseInt(piece, 16)),
    ),
  );
}
