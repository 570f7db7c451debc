/**
 * Reads a stream line by line, some at a time: whoever writes faster than lines are looked at waits,
 * and everybody else has their turn in between.
 */
import type { Readable } from "node:stream";
import { type Line, LineReader } from "../../base/line-reader.ts";

/** The receiver of lines. */
export interface LineListener {
  onLine(line: Line): void;
  /** After the last line. */
  onEnd?(): void;
}

const SLICE_MS = 2;

/** Begins to read. */
export function readLines(stream: Readable, maxBytes: number, listener: LineListener): void {
  const reader = new LineReader(maxBytes);
  let waiting: readonly Line[] = [];
  let at = 0;
  let isEnded = false;

  function work(): void {
    const until = performance.now() + SLICE_MS;
    while (at < waiting.length) {
      const line = waiting[at];
      at += 1;
      if (line !== undefined) listener.onLine(line);
      if (at < waiting.length && performance.now() > until) {
        setImmediate(work);
        return;
      }
    }
    waiting = [];
    at = 0;
    if (isEnded) listener.onEnd?.();
    else stream.resume();
  }

  function take(lines: readonly Line[]): void {
    const isIdle = waiting.length === 0;
    waiting = isIdle ? lines : [...waiting.slice(at), ...lines];
    if (!isIdle) at = 0;
    else work();
  }

  stream.on("data", (chunk: Buffer) => {
    const lines = reader.push(chunk);
    if (lines.length === 0) return;
    // More than one may take long.
    if (lines.length > 1) stream.pause();
    take(lines);
  });
  stream.on("end", () => {
    isEnded = true;
    take(reader.end());
  });
  stream.on("error", () => undefined);
}
