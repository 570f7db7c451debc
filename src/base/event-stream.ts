/** Parses `text/event-stream` in chunks of any size.   HTML "Server-sent events" */

/** An event with its fields as sent. */
export interface StreamEvent {
  readonly event?: string;
  readonly data?: string;
  readonly id?: string;
  readonly retry?: number;
}

/** Parses events; keeps only the incomplete one. */
export class EventReader {
  readonly #mend: (line: string) => string;
  /** The incomplete line. */
  #rest = "";
  /** True after a CR, which a LF may complete. */
  #isBehindCr = false;
  #event: StreamEvent = {};

  /** Takes a function that is applied to each line before it is parsed. */
  constructor(mend: (line: string) => string = (line) => line) {
    this.#mend = mend;
  }

  /** The number of kept characters. */
  get length(): number {
    const { event = "", data = "" } = this.#event;
    return this.#rest.length + event.length + data.length;
  }

  /**
   * Returns the events that a chunk completes, which must be iterated to the end; one without data
   * is dropped.
   */
  push(chunk: string): Iterable<StreamEvent> {
    if (chunk === "") return [];
    const text = this.#isBehindCr && chunk.startsWith("\n") ? chunk.slice(1) : chunk;
    this.#isBehindCr = chunk.endsWith("\r");
    // Earlier chunks, possibly of one character each, are not scanned again.
    if (/[\r\n]/.test(text)) return this.#take(text);
    this.#rest += text;
    return [];
  }

  *#take(text: string): Generator<StreamEvent> {
    const ending = /\r\n|\n|\r/g;
    let from = 0;
    for (let found = ending.exec(text); found !== null; found = ending.exec(text)) {
      const line = this.#rest + text.slice(from, found.index);
      this.#rest = "";
      from = ending.lastIndex;
      if (line !== "") {
        this.#event = withField(this.#event, this.#mend(line));
        continue;
      }
      const event = this.#event;
      this.#event = {};
      if (event.data !== undefined) yield event;
    }
    this.#rest = text.slice(from);
  }
}

const RETRY = /^\d{1,15}$/;

function withField(event: StreamEvent, line: string): StreamEvent {
  const colon = line.indexOf(":");
  const name = colon === -1 ? line : line.slice(0, colon);
  const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
  switch (name) {
    case "data":
      return { ...event, data: event.data === undefined ? value : `${event.data}\n${value}` };
    case "event":
      return { ...event, event: value };
    case "id":
      return value.includes("\0") ? event : { ...event, id: value };
    case "retry":
      return RETRY.test(value) ? { ...event, retry: Number(value) } : event;
    default:
      return event;
  }
}
