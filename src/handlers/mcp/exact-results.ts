/**
 * Results of tools with numbers that a double does not keep. The library reads all that a server writes as
 * JavaScript does, so texts stand for such numbers on their way through it.   RFC 8259 §6
 * It passes over an answer that is no message, for which a call would wait: an error stands for it.
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

/** A message as the library may read it: the result of a tool alone is another one. */
function markResult(message: Buffer): Buffer {
  if (!message.includes(MEMBER) || !seemsToHaveLost(message)) return message;
  const content = valueAt(parseJson(message.toString()), ["result", "structuredContent"]);
  if (content === undefined || !hasLostNumbers(message, content)) return message;
  return Buffer.from(markLost(message));
}

const DATA = Buffer.from("data:");

/** The message of an HTTP answer. Throws for what is no text: other characters would stand in for it. */
export function markAnswer(message: Buffer): Buffer {
  if (!isUtf8(message)) throw new SyntaxError("a message that is not UTF-8");
  return markResult(message);
}

/** The events of an HTTP answer; each message is on a line of its own.   HTML "Server-sent events" */
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

/** Octets with each line, which has its end, as something makes it. */
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

/** The reader of a child's output, in the library's reader's place: with whole lines alone to read. */
export class ResultReader {
  readonly #maxBytes: number;
  readonly #onStray: (isJson: boolean) => void;
  #held: Buffer[] = [];
  /** The octets of the line that has no end yet. */
  #length = 0;
  /** The lines that have come, and which of them is read next. */
  #lines: Buffer[] = [];
  #next = 0;

  /** `onStray` hears of each line that is no message, and answers nothing; most often it is no JSON either. */
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
   * The next message; null where there is none yet. What is no JSON is passed over.
   *
   * @throws where the next line is no message, and answers nothing
   */
  readMessage(): JSONRPCMessage | null {
    // To shift each of tens of thousands of lines takes seconds: V8 moves all the others.
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

/** The error that stands for an answer that is none: nobody waits for it in vain. */
export const UNREADABLE: { readonly code: number; readonly message: string } = {
  code: -32_098,
  message: "the upstream's answer is no message",
};

/** Tells whether an error is the one that is given in a server's place. */
export function isUnreadable({ code, message }: Pick<ProtocolError, "code" | "message">): boolean {
  return code === UNREADABLE.code && message === UNREADABLE.message;
}

/** The line of that error where a message is such an answer. */
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

/** @throws where a value is no message, and answers nothing */
function readMessage(value: unknown): JSONRPCMessage {
  try {
    return parseJSONRPCMessage(value);
  } catch (error) {
    return unreadable(value, error);
  }
}

/** @throws the error where a value answers nothing */
function unreadable(value: unknown, error: unknown): JSONRPCMessage {
  const { id, method } = recordIn(value);
  if (method !== undefined || (typeof id !== "number" && typeof id !== "string")) throw error;
  return { jsonrpc: "2.0", id, error: UNREADABLE };
}
