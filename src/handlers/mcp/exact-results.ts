/**
 * Results of tools with numbers that a double cannot hold. The library parses JSON into doubles, so
 * strings carry such numbers through it.   RFC 8259 §6
 * The library also ignores an answer that is not a valid message, and its call would wait: an error
 * replaces it.
 */
import { isUtf8 } from "node:buffer";
import {
  type JSONRPCMessage,
  type ProtocolError,
  parseJSONRPCMessage,
} from "@modelcontextprotocol/client";
import { hasLostNumbers, markLost, seemsToHaveLost } from "../../base/exact-numbers.ts";
import { ANSWER_BOUNDS, jsonExcess } from "../../base/json-bounds.ts";
import { parseJson, recordIn, valueAt } from "../../base/json-value.ts";

const MEMBER = Buffer.from('"structuredContent"');
const ID = Buffer.from('"id"');
const LF = 0x0a;

/** The message as the library may read it: only the structured content of a tool's result is changed. */
function markResult(message: Buffer): Buffer {
  if (!message.includes(MEMBER) || !seemsToHaveLost(message)) return message;
  const content = valueAt(parseJson(message.toString()), ["result", "structuredContent"]);
  if (content === undefined || !hasLostNumbers(message, content)) return message;
  return Buffer.from(markLost(message));
}

const DATA = Buffer.from("data:");

/** Marks the message of an HTTP answer. Throws for invalid UTF-8, which decoding would replace silently. */
export function markAnswer(message: Buffer): Buffer {
  if (!isUtf8(message)) throw new SyntaxError("a message that is not UTF-8");
  return markResult(message);
}

/** Marks the events of an HTTP answer; each message is on one line.   HTML "Server-sent events" */
export function markEvents(events: Buffer): Buffer {
  if (!isUtf8(events)) throw new SyntaxError("an event that is not UTF-8");
  return events.includes(ID) ? eachLine(events, markData) : events;
}

function markData(line: Buffer): Buffer {
  if (!line.subarray(0, DATA.length).equals(DATA)) return line;
  const message = line.subarray(DATA.length);
  const marked = errorFor(message) ?? markResult(message);
  return marked === message ? line : Buffer.concat([DATA, marked]);
}

/** Applies a change to each line, line end included. */
function eachLine(octets: Buffer, change: (line: Buffer) => Buffer): Buffer {
  const lines: Buffer[] = [];
  for (let from = 0; from < octets.length; ) {
    const end = octets.indexOf(LF, from);
    const next = end === -1 ? octets.length : end + 1;
    lines.push(change(octets.subarray(from, next)));
    from = next;
  }
  return Buffer.concat(lines);
}

/** Reads a child's output in place of the library's reader, which thereby gets whole lines only. */
export class ResultReader {
  readonly #maxBytes: number;
  readonly #onStray: (isJson: boolean) => void;
  #held: Buffer[] = [];
  /** The octets of the unfinished line. */
  #length = 0;
  /** The lines that have arrived; `#next` is the index of the next one to read. */
  #lines: Buffer[] = [];
  #next = 0;

  /** `onStray` is called for each invalid line that answers no request; most are not JSON either. */
  constructor(maxBytes: number, onStray: (isJson: boolean) => void = () => undefined) {
    this.#maxBytes = maxBytes;
    this.#onStray = onStray;
  }

  append(chunk: Buffer): void {
    for (let from = 0; from < chunk.length; ) {
      const end = chunk.indexOf(LF, from);
      const part = chunk.subarray(from, end === -1 ? chunk.length : end + 1);
      this.#length += part.length;
      if (this.#length > this.#maxBytes) {
        this.clear();
        throw new Error(`a message is longer than ${this.#maxBytes} bytes`);
      }
      this.#held.push(part);
      if (end !== -1) this.#endLine();
      from += part.length;
    }
  }

  #endLine(): void {
    const [only, ...others] = this.#held;
    this.#lines.push(only !== undefined && others.length === 0 ? only : Buffer.concat(this.#held));
    this.#held = [];
    this.#length = 0;
  }

  /**
   * Returns the next message; null if there is none yet. Lines that are not JSON are skipped.
   *
   * @throws if the next line is no valid message and answers no request
   */
  readMessage(): JSONRPCMessage | null {
    // Why not `shift`: V8 moves all other elements, which takes seconds for tens of thousands of lines.
    for (let line = this.#lines[this.#next]; line !== undefined; line = this.#lines[this.#next]) {
      this.#next += 1;
      const excess = jsonExcess(line, ANSWER_BOUNDS);
      const value = parseJson((excess === undefined ? markResult(line) : line).toString());
      if (value === undefined) {
        this.#onStray(false);
        continue;
      }
      try {
        return excess === undefined ? readMessage(value) : unreadable(value, new Error(excess));
      } catch (error) {
        this.#onStray(true);
        throw error;
      }
    }
    this.#forgetLines();
    return null;
  }

  clear(): void {
    this.#held = [];
    this.#length = 0;
    this.#forgetLines();
  }

  #forgetLines(): void {
    this.#lines = [];
    this.#next = 0;
  }
}

/** The error that replaces an invalid answer, so that its call does not wait forever. */
export const UNREADABLE: { readonly code: number; readonly message: string } = {
  code: -32_098,
  message: "the upstream's answer is no message",
};

/** Returns true if an error is `UNREADABLE`, and not the server's own. */
export function isUnreadable({ code, message }: Pick<ProtocolError, "code" | "message">): boolean {
  return code === UNREADABLE.code && message === UNREADABLE.message;
}

/** The line of that error if a message is an invalid answer. */
function errorFor(message: Buffer): Buffer | undefined {
  const value = message.includes(ID) ? parseJson(message.toString()) : undefined;
  try {
    const read = value === undefined ? undefined : readMessage(value);
    const isError = read !== undefined && "error" in read && read.error === UNREADABLE;
    return isError ? Buffer.from(`${JSON.stringify(read)}\n`) : undefined;
  } catch {
    return undefined;
  }
}

/** @throws if a value is no valid message and answers no request */
function readMessage(value: unknown): JSONRPCMessage {
  try {
    return parseJSONRPCMessage(value);
  } catch (error) {
    return unreadable(value, error);
  }
}

/** @throws the error if a value answers no request */
function unreadable(value: unknown, error: unknown): JSONRPCMessage {
  const { id, method } = recordIn(value);
  if (method !== undefined || (typeof id !== "number" && typeof id !== "string")) throw error;
  return { jsonrpc: "2.0", id, error: UNREADABLE };
}
