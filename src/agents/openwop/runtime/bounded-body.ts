/** The body of a model's answer, received as far as anybody may want it and no further. */
import { MAX_ANSWER_BYTES, tooLong } from "./completion.ts";

/** What there is to receive. */
export interface BodySource {
  readonly isEventStream: boolean;
  readonly body: AsyncIterable<Uint8Array>;
  /** Gives up the rest. */
  discard(): void;
}

/** Each piece of a stream is wrapped in a few hundred octets of JSON. */
const MAX_STREAM_BYTES = 16 * MAX_ANSWER_BYTES;
/** What the last event of a stream says; whatever comes behind it is not waited for. */
const DONE = /(?:^|\n)data: ?\[DONE\]\r?\n/;
const DONE_LENGTH = "\ndata: [DONE]\r\n".length;

/** The octets in their order; the stream errs when they are too many. */
export function boundedBody(source: BodySource): ReadableStream<Uint8Array> {
  const chunks = source.body[Symbol.asyncIterator]();
  const bounds = source.isEventStream ? new StreamBounds() : new DocumentBounds();
  const giveUp = (): void => source.discard();
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done === true) return controller.close();
        try {
          bounds.add(value);
        } catch (error) {
          giveUp();
          throw error;
        }
        controller.enqueue(value);
        if (!bounds.isOver) return;
        giveUp();
        controller.close();
      },
      cancel: giveUp,
    },
    // Nothing is received before somebody reads.
    { highWaterMark: 0 },
  );
}

/** Of one document. */
class DocumentBounds {
  readonly isOver = false;
  #length = 0;

  add(chunk: Uint8Array): void {
    this.#length += chunk.length;
    if (this.#length > MAX_ANSWER_BYTES) throw tooLong();
  }
}

/** Of a stream of events, whose lines are bounded too. */
class StreamBounds {
  #length = 0;
  #lineLength = 0;
  #tail = "";

  get isOver(): boolean {
    return DONE.test(this.#tail);
  }

  add(chunk: Uint8Array): void {
    this.#length += chunk.length;
    const first = chunk.indexOf(NEWLINE);
    const longest = this.#lineLength + (first === -1 ? chunk.length : first);
    if (this.#length > MAX_STREAM_BYTES || longest > MAX_ANSWER_BYTES) throw tooLong();
    this.#lineLength = first === -1 ? longest : chunk.length - 1 - chunk.lastIndexOf(NEWLINE);
    this.#tail = this.#tail.slice(-DONE_LENGTH) + Buffer.from(chunk).toString("latin1");
  }
}

const NEWLINE = 0x0a;
