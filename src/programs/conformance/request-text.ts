/**
 * A request as a transcript writes it, and the octets that it stands for. Values are put in where
 * the text names them; what cannot stand there, because it would break the message, is a fault.
 *
 * `{{name}}` is the value bound to that name. In a body, `"{{name}}"` is the value itself, whatever
 * its type. A line of a head that is one name alone stands for as many lines as the value has.
 */
import { asText, type Bindings, VARIABLE } from "./text-pattern.ts";

/** The lines of one request. */
export interface RequestText {
  readonly lines: readonly string[];
  /** It is cut off behind the last line, and the client ends its side. */
  readonly isCut: boolean;
}

/** A request with its values, or the name that has none. */
type FilledRequest =
  | { readonly kind: "request"; readonly text: RequestText }
  | { readonly kind: "fault"; readonly message: string };

/** In a body: with its quotes the name stands for a whole value, else for a part of a text. */
const IN_BODY = new RegExp(`"${VARIABLE.source}"|${VARIABLE.source}`, "g");
const ALONE = /^\{\{([a-z][a-z0-9_.]*)\}\}$/;
/** Values that may stand in a head; servers choose some of them. */
const HEAD_TEXT = /^[\x20-\x7e]{0,8192}$/;

/** Puts in what the names stand for. */
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

/** A backslash of a value is none of the transcript's, where `\xNN` is an octet. */
function jsonOf(value: unknown): string {
  return JSON.stringify(value).replaceAll("\\\\", "\\u005c");
}

/** The octets of a request. LF in a head stands for CRLF; a head that is cut off is not completed. */
export function encodeRequest({ lines, isCut }: RequestText): Buffer {
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
