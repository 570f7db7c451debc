/**
 * News on one stream, of which no more than a few wait for a reader who is slow: that the tools are
 * others is said once more when the reader has caught up, and once is as good as often.
 */

/** A few more than a reader needs that reads at all. */
const MAX_UNREAD = 8;

/** The news of one listener. */
export class BoundedNews {
  readonly #send: () => void;
  #unread = 0;
  #hasMissed = false;

  constructor(send: () => void) {
    this.#send = send;
  }

  /** Sends one more, or notes that one is missing. */
  tell(): void {
    if (this.#unread >= MAX_UNREAD) {
      this.#hasMissed = true;
      return;
    }
    this.#unread += 1;
    this.#send();
  }

  /** Wraps a response to watch its reader; a stream that begins has missed nothing. */
  watch(response: Response): Response {
    const reader = response.body?.getReader();
    if (reader === undefined) return response;
    this.#unread = 0;
    this.#hasMissed = false;
    const body = new ReadableStream<Uint8Array>(
      {
        pull: async (controller) => {
          const next = await reader.read();
          if (next.done) return controller.close();
          controller.enqueue(next.value);
          this.#caughtUp();
        },
        cancel: (reason) => reader.cancel(reason),
      },
      { highWaterMark: 0 },
    );
    return new Response(body, response);
  }

  #caughtUp(): void {
    this.#unread = Math.max(this.#unread - 1, 0);
    if (!this.#hasMissed || this.#unread > 0) return;
    this.#hasMissed = false;
    this.tell();
  }
}
