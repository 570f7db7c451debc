/**
 * The body of a model's answer, received as far as anybody may want it and no further, and handed on
 * in slices: whatever reading one costs, others have their turn in between.
 */
import { octetSlices } from "../../../base/octet-slices.ts";
import { CompletionFault, MAX_ANSWER_BYTES, tooLong } from "./completion.ts";

/** All that there is to receive. */
interface BodySource {
  readonly isEventStream: boolean;
  readonly body: AsyncIterable<Uint8Array>;
  /** Gives up the rest. */
  discard(): void;
}

/** Each piece of a stream is wrapped in a few hundred octets of JSON. */
const MAX_STREAM_BYTES = 16 * MAX_ANSWER_BYTES;
const MAX_STREAM_LINES = 262_144;
/** The data of a stream's last event; whatever comes behind it is not waited for. */
const DONE = /\ndata: ?\[DONE\]\r?\n/;
const DONE_LENGTH = "\ndata: [DONE]\r\n".length;
const NEWLINE = 0x0a;

/** The octets in their order; the stream errs when they are too many. */
export function boundedBody(source: BodySource): ReadableStream<Uint8Array> {
  const slices = octetSlices(source.body);
  const bounds = source.isEventStream ? new StreamBounds() : new DocumentBounds();
  const giveUp = (): void => source.discard();
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await slices.next();
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

  add(slice: Uint8Array): void {
    this.#length += slice.length;
    if (this.#length > MAX_ANSWER_BYTES) throw tooLong();
  }
}

/** Bounds a stream of events and each of its lines. */
class StreamBounds {
  #length = 0;
  #lines = 0;
  #lineLength = 0;
  /** As if a line had ended before the first. */
  #tail = "\n";

  get isOver(): boolean {
    return DONE.test(this.#tail);
  }

  add(slice: Uint8Array): void {
    this.#length += slice.length;
    if (this.#length > MAX_STREAM_BYTES) throw tooLong(MAX_STREAM_BYTES);
    for (const octet of slice) {
      const isEnd = octet === NEWLINE;
      this.#lineLength = isEnd ? 0 : this.#lineLength + 1;
      if (this.#lineLength > MAX_ANSWER_BYTES) throw tooLong();
      if (isEnd) this.#lines += 1;
    }
    if (this.#lines > MAX_STREAM_LINES) {
      throw new CompletionFault(`the model's answer has more than ${MAX_STREAM_LINES} lines`);
    }
    this.#tail = this.#tail.slice(-DONE_LENGTH) + Buffer.from(slice).toString("latin1");
  }
}
