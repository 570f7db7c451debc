/**
 * The transcript format: exchanges with an AGTP server, as a text file that is read top to bottom.
 * Decides what is sent and what is expected of the answers; a file that breaks the format is answered
 * with problems.
 *
 *     # AGTP-API §5.1                      comments first; the first one names the clause
 *     # config: closed                     a note: here the server's configuration, when it is not
 *                                          the default one; `case.ts` has the others
 *     AGTP/1.0 QUERY /rooms                a request: LF stands for CRLF in its head, and the empty
 *     Content-Length: {length}             line after a head may be left out where no body follows
 *
 *     {"city": "Oslo"}
 *     ----------
 *     AGTP/1.0 200 OK                      the response: every header field and the whole body;
 *     Response-ID: {uuid}                  `response-pattern.ts` has the placeholders
 *
 *     {"rooms": []}
 *     ---------- or                        another response that is as good
 *     AGTP/1.0 204 No Content
 *     ---------- skip: it has no rooms     another one, which shows that there is nothing to be asked
 *     AGTP/1.0 404 Not Found
 *     ==========                           the next exchange, on the same connection
 *     ========== finally                   the same, and held even if an earlier one went wrong
 *
 * `\xNN` is one octet, in a head or a body. A request that ends in the line `{end}` is cut off there,
 * and the client ends its side. A response that ends in the line `{close}` is the last one: the
 * server closes the connection.
 */
import type { Problem } from "../../base/problem.ts";
import type { RequestText } from "./request-text.ts";
import { type ExpectedResponse, parseExpectedResponse } from "./response-pattern.ts";

/** A whole file. */
export interface Transcript {
  /** The file's name without folder and suffix. */
  readonly name: string;
  /** The clause, as the first comment says it. */
  readonly clause: string;
  /** Name of the server configuration that the exchanges are written for; "" is the default one. */
  readonly config: string;
  /** The other comments of the form `name: text`. */
  readonly notes: ReadonlyMap<string, string>;
  readonly exchanges: readonly TranscriptExchange[];
}

/** One request, and the response it is to get. */
export interface TranscriptExchange {
  /** Line of the request in the file, from 1. */
  readonly line: number;
  readonly request: RequestText;
  /** Any of these will do; none: nothing is answered. */
  readonly responses: readonly ExpectedResponse[];
  /** The server closes the connection after this response. */
  readonly isClosed: boolean;
  /** It puts things in order again, and is held even if an earlier one went wrong. */
  readonly isFinal: boolean;
}

interface TranscriptResult {
  readonly transcript: Transcript | undefined;
  readonly problems: readonly Problem[];
}

const NEXT_EXCHANGE = "==========";
const FINALLY = "========== finally";
const ANSWER = "----------";
const OR = "---------- or";
const SKIP = "---------- skip: ";
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
  const exchanges = splitLines(lines, isNext, comments.length).flatMap((part) => {
    const exchange = parseExchange(part, report);
    return exchange === undefined ? [] : [exchange];
  });
  for (const { line, isClosed, request } of exchanges.slice(0, -1)) {
    if (isClosed || request.isCut) report(line, "only the last exchange may end the connection");
  }
  if (problems.length > 0) return { transcript: undefined, problems };
  const name = file.replace(/^.*\//, "").replace(/\.agtp$/, "");
  const notes = new Map(comments.slice(1).flatMap(noteOf));
  const config = notes.get("config") ?? "";
  return { transcript: { name, clause, config, notes, exchanges }, problems };
}

function commentText(line: string): string {
  return line.slice(1).trim();
}

function noteOf(comment: string): readonly (readonly [string, string])[] {
  const [, name, text = ""] = /^([a-z]+): *(.*)$/.exec(comment) ?? [];
  return name === undefined ? [] : [[name, text.trim()]];
}

function isNext(line: string): boolean {
  return line === NEXT_EXCHANGE || line === FINALLY;
}

interface Part {
  readonly line: number;
  readonly lines: readonly string[];
  /** The line before it; "" for the first part. */
  readonly separator: string;
}

/** The lines between those that separate; a part's line counts from 1. */
function splitLines(
  lines: readonly string[],
  isSeparator: (line: string) => boolean,
  from = 0,
): readonly Part[] {
  const parts: Part[] = [];
  let start = from;
  let separator = "";
  for (const [at, line] of [...lines.entries(), [lines.length, undefined] as const]) {
    if (at < from || (line !== undefined && !isSeparator(line))) continue;
    parts.push({ line: start + 1, lines: lines.slice(start, at), separator });
    start = at + 1;
    separator = line ?? "";
  }
  return parts;
}

function parseExchange(
  { line, lines, separator }: Part,
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
    request: { lines: asked.lines, isCut: asked.isPresent },
    isClosed: answered.isPresent,
    isFinal: separator === FINALLY,
  };
  if (answered.lines.length === 0 && answered.isPresent) return { ...exchange, responses: [] };
  const responses: ExpectedResponse[] = [];
  for (const part of splitLines(answered.lines, isAlternative)) {
    const { response, fault } = parseExpectedResponse(part.lines);
    if (fault !== undefined) report(line + split + part.line, fault);
    const isSkip = part.separator.startsWith(SKIP);
    const skipReason = isSkip ? part.separator.slice(SKIP.length) : undefined;
    if (response !== undefined) responses.push({ ...response, skipReason });
  }
  return { ...exchange, responses };
}

function isAlternative(line: string): boolean {
  return line === OR || line.startsWith(SKIP);
}

function withoutLast(
  lines: readonly string[],
  word: string,
): { readonly lines: readonly string[]; readonly isPresent: boolean } {
  const isPresent = lines.at(-1) === word;
  return { lines: isPresent ? lines.slice(0, -1) : lines, isPresent };
}
