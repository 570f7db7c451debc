/**
 * The transcript format: exchanges with an AGTP server as a text file, from top to bottom. Parses the
 * requests and the expected answers; an invalid file yields problems.
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
 *     ---------- or                        an alternative response
 *     AGTP/1.0 204 No Content
 *     ---------- skip: it has no rooms     an alternative that skips the case
 *     AGTP/1.0 404 Not Found
 *     ==========                           the next exchange, on the same connection
 *     ========== finally                   the same, but run even after a failure
 *
 * `\xNN` is one octet, in a head or a body. A request that ends in the line `{end}` is cut off there,
 * and the client ends its side. A response that ends in the line `{close}` is the last one: the
 * server closes the connection.
 *
 * `{{name}}` is the value bound to that name, `"{{name}}"` in a body the value itself, whatever its
 * type; a line of a head that is one name alone stands for as many lines as the value has. A value
 * that would break the message is a fault.
 */

import type { Problem } from "../../base/problem.ts";
import { type ExpectedResponse, parseExpectedResponse } from "./response-pattern.ts";
import { asText, type Bindings, VARIABLE } from "./text-pattern.ts";

export interface Transcript {
  /** The file's name without folder and suffix. */
  readonly name: string;
  readonly clause: string;
  /** The name of the server configuration that the exchanges are written for; "" is the default one. */
  readonly config: string;
  /** The other comments of the form `name: text`. */
  readonly notes: ReadonlyMap<string, string>;
  readonly exchanges: readonly TranscriptExchange[];
}

/** One request, with its expected responses. */
export interface TranscriptExchange {
  /** Line of the request in the file, from 1. */
  readonly line: number;
  readonly request: RequestText;
  /** The acceptable responses; if empty, no answer is expected. */
  readonly responses: readonly ExpectedResponse[];
  /** True if the server closes the connection after this response. */
  readonly isClosed: boolean;
  /** True for a clean-up exchange, which runs even after a failure. */
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

/** Parses the text of a transcript; problems name it `file`. */
export function parseTranscript(text: string, file: string): TranscriptResult {
  const lines = text.replace(/\r\n/g, "\n").replace(/\n$/, "").split("\n");
  const start = lines.findIndex((line) => !line.startsWith("#"));
  const comments = lines
    .slice(0, start === -1 ? lines.length : start)
    .map((line) => line.slice(1).trim());
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
  /** The separator line before it; "" for the first part. */
  readonly separator: string;
}

/** Splits lines at separators; each part knows its first line, counted from 1. */
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

interface RequestText {
  readonly lines: readonly string[];
  /** True if the request is cut off after the last line, and the client ends its side. */
  readonly isCut: boolean;
}

type FilledRequest =
  | { readonly kind: "request"; readonly text: RequestText }
  | { readonly kind: "fault"; readonly message: string };

/** A name in a body: with quotes it stands for a whole value, else for part of a text. */
const IN_BODY = new RegExp(`"${VARIABLE.source}"|${VARIABLE.source}`, "g");
const ALONE = /^\{\{([a-z][a-z0-9_.]*)\}\}$/;
/** Values that are allowed in a head; servers choose some of them. */
const HEAD_TEXT = /^[\x20-\x7e]{0,8192}$/;

/** Replaces names by their values. */
export function fillRequest({ lines, isCut }: RequestText, bindings: Bindings): FilledRequest {
  const faults: string[] = [];
  const value = (name: string): unknown => {
    const found = bindings.get(name);
    if (found === undefined) faults.push(`there is no value for {{${name}}}`);
    return found === undefined ? "" : found;
  };
  const blank = lines.indexOf("");
  const head = (blank === -1 ? lines : lines.slice(0, blank)).flatMap((line) =>
    fillHeadLine(line, value),
  );
  const broken = head.find((line) => !HEAD_TEXT.test(line));
  if (broken !== undefined) faults.push(`a value cannot be sent in ${JSON.stringify(broken)}`);
  const body = blank === -1 ? [] : lines.slice(blank).map((line) => fillBodyLine(line, value));
  const [message] = faults;
  if (message !== undefined) return { kind: "fault", message };
  return { kind: "request", text: { lines: [...head, ...body], isCut } };
}

type ValueOf = (name: string) => unknown;

function fillHeadLine(line: string, value: ValueOf): readonly string[] {
  const alone = ALONE.exec(line)?.[1];
  if (alone !== undefined) {
    const lines = value(alone);
    return Array.isArray(lines) ? lines.map(asText) : [asText(lines)];
  }
  return [line.replace(VARIABLE, (_, name: string) => asText(value(name)))];
}

function fillBodyLine(line: string, value: ValueOf): string {
  return line.replace(IN_BODY, (_, whole: string | undefined, part: string = "") => {
    if (whole !== undefined) return jsonOf(value(whole));
    const found = value(part);
    return typeof found === "string" ? jsonOf(found).slice(1, -1) : asText(found);
  });
}

/** Escapes the backslashes of a value, because `\xNN` is an octet in a transcript. */
function jsonOf(value: unknown): string {
  return JSON.stringify(value).replaceAll("\\\\", "\\u005c");
}

/** Encodes a request as octets. LF in a head becomes CRLF; a head that is cut off stays incomplete. */
export function encodeRequest({ lines, isCut }: RequestText): Buffer {
  const blank = lines.indexOf("");
  const head = blank === -1 ? lines : lines.slice(0, blank);
  const body = decodeEscapes(blank === -1 ? "" : lines.slice(blank + 1).join("\n"));
  const fields = head.map((line) => `${line.replaceAll("{length}", String(body.length))}\r\n`);
  const isComplete = blank !== -1 || !isCut;
  return Buffer.concat([decodeEscapes(fields.join("") + (isComplete ? "\r\n" : "")), body]);
}

/** Encodes as UTF-8; `\xNN` becomes the octet itself. */
function decodeEscapes(text: string): Buffer {
  const pieces = text.split(/\\x([0-9A-Fa-f]{2})/);
  return Buffer.concat(
    pieces.map((piece, index) =>
      index % 2 === 0 ? Buffer.from(piece, "utf8") : Buffer.of(Number.parseInt(piece, 16)),
    ),
  );
}
