/**
 * Standard output as the log's destination: lines are collected for a moment and written together.
 * Neither a reader that stalls nor one that is gone, nor a full disk, stops the daemon or its exit:
 * what cannot be written is dropped.
 */
import type { LogSink } from "../base/log.ts";

/** The most characters that are collected before they are written, and the longest time. */
const BATCH_LENGTH = 8192;
const BATCH_MS = 50;

/** The octets that wait for a slow reader before lines are dropped. */
const MAX_PENDING_BYTES = 16 * 1024 * 1024;

/** The longest that an exit waits for a reader to take the last lines. */
const LAST_FLUSH_MS = 500;

/** One for a process. A file or a terminal is written at once, a pipe when its reader has room. */
export function openStdout(stream: NodeJS.WritableStream = process.stdout): LogSink {
  return new BatchingSink(stream);
}

class BatchingSink implements LogSink {
  readonly #stream: NodeJS.WritableStream & { readonly writableLength?: number };
  #batch = "";
  #timer: NodeJS.Timeout | undefined;

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream;
    // Nobody reads the log any more: that ends the log, not the daemon.
    stream.on("error", () => undefined);
  }

  write(text: string): void {
    this.#batch += text;
    if (this.#batch.length >= BATCH_LENGTH) this.#send();
    else this.#timer ??= setTimeout(() => this.#send(), BATCH_MS).unref();
  }

  flush(): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, LAST_FLUSH_MS);
      this.#send(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  #send(done?: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const batch = this.#batch;
    this.#batch = "";
    const isStalled = (this.#stream.writableLength ?? 0) > MAX_PENDING_BYTES;
    try {
      this.#stream.write(isStalled ? "" : batch, done);
    } catch {
      // A file is written at once, and its disk may be full.
      done?.();
    }
  }
}
