/**
 * Reads `text/event-stream` as ACP servers write it, in any chunks. Their keep-alive is a colon without
 * an end of line, which sticks to the line that follows; it is taken off. Nothing is kept beyond one
 * frame of bounded length.   HTML "Server-sent events"
 */

/** One event. */
interface StreamFrame {
  /** `message` unless the server named it. */
  readonly event: string;
  readonly data: string;
}

/** A frame beyond this ends the reading. */
export const MAX_FRAME_LENGTH = 262_144;

const STUCK_KEEP_ALIVE = /^:+(?=(?:id|event|data|retry):)/;

/** Give it text as it comes. */
export class EventStreamParser {
  #rest = "";
  #data: string[] = [];
  #length = 0;
  #event = "";
  #isOverlong = false;

  /** A frame was too long, and nothing is read any more. */
  get isOverlong(): boolean {
    return this.#isOverlong;
  }

  /** The frames that are complete with this chunk. */
  push(chunk: string): readonly StreamFrame[] {
    const frames: StreamFrame[] = [];
    if (this.#isOverlong) return frames;
    const text = this.#rest + chunk;
    // A CR that may be the first half of CR LF waits for the other.
    const lines = text.split(/\r\n|\n|\r(?!$)/);
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const frame = this.#take(line);
      if (frame !== undefined) frames.push(frame);
    }
    if (this.#rest.length + this.#length > MAX_FRAME_LENGTH) this.#isOverlong = true;
    return frames;
  }

  #take(written: string): StreamFrame | undefined {
    if (written === "") return this.#end();
    const line = written.replace(STUCK_KEEP_ALIVE, "");
    const colon = line.indexOf(":");
    if (colon === 0) return undefined;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#event = value.slice(0, 128);
    if (field !== "data" || this.#length > MAX_FRAME_LENGTH) return undefined;
    this.#data.push(value);
    this.#length += value.length + 1;
    return undefined;
  }

  #end(): StreamFrame | undefined {
    const [data, event] = [this.#data, this.#event];
    this.#data = [];
    this.#event = "";
    this.#length = 0;
    if (data.length === 0) return undefined;
    return { event: event === "" ? "message" : event, data: data.join("\n") };
  }
}
