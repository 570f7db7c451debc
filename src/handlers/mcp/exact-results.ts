/**
 * Results of tools with numbers that a double does not keep. The library reads all that a server writes as
 * JavaScript does, so texts stand for such numbers on their way through it.   RFC 8259 §6
 */
import { isUtf8 } from "node:buffer";
import { ReadBuffer } from "@modelcontextprotocol/client";
import { hasLostNumbers, markLost, seemsToHaveLost } from "../../base/exact-numbers.ts";
import { parseJson, valueAt } from "../../base/json-value.ts";

const MEMBER = Buffer.from('"structuredContent"');
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
  return events.includes(MEMBER) ? eachLine(events, markData) : events;
}

function markData(line: Buffer): Buffer {
  if (!line.subarray(0, DATA.length).equals(DATA)) return line;
  const message = line.subarray(DATA.length);
  const marked = markResult(message);
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

/** The library's reader of a child's output, with whole lines alone to read. */
export class ResultReader extends ReadBuffer {
  readonly #maxBytes: number;
  #held: Buffer[] = [];
  /** The octets of the line that has no end yet. */
  #length = 0;

  constructor(maxBytes: number) {
    super({ maxBufferSize: Number.POSITIVE_INFINITY });
    this.#maxBytes = maxBytes;
  }

  override append(chunk: Buffer): void {
    this.#count(chunk);
    this.#held.push(chunk);
    if (!chunk.includes(LF)) return;
    const octets = Buffer.concat(this.#held);
    const end = octets.lastIndexOf(LF) + 1;
    const whole = octets.subarray(0, end);
    super.append(whole.includes(MEMBER) ? eachLine(whole, markResult) : whole);
    this.#held = [octets.subarray(end)];
  }

  /** Counts the octets of each line on its own. */
  #count(chunk: Buffer): void {
    for (let from = 0; from < chunk.length; ) {
      const end = chunk.indexOf(LF, from);
      const next = end === -1 ? chunk.length : end + 1;
      this.#length += next - from;
      if (this.#length > this.#maxBytes) {
        this.clear();
        throw new Error(`a message is longer than ${this.#maxBytes} bytes`);
      }
      if (end !== -1) this.#length = 0;
      from = next;
    }
  }

  override clear(): void {
    this.#held = [];
    this.#length = 0;
    super.clear();
  }
}
