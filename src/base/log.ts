/**
 * The log: one JSON object a line on stdout, written by pino through one destination. Request
 * lines are put together by hand, because one is written for every request. Lines are collected for a
 * moment and written together. Neither a reader that stalls nor one that is gone, nor a full disk,
 * stops the daemon or its exit: what cannot be written is dropped.
 */
import { Buffer } from "node:buffer";
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from "pino";
import type { JsonRecord } from "./json-value.ts";
import type { LogLevel } from "./log-level.ts";

export interface LogSink extends DestinationStream {
  /** Sends what was collected; resolves when it is written, or when nobody takes it. */
  flush(): Promise<void>;
}

export interface Log {
  readonly logger: Logger;
  /** One finished line without its line feed. */
  writeLine(line: string): void;
  flush(): Promise<void>;
}

/** A log on a sink. */
export function createLog(level: LogLevel, sink: LogSink): Log {
  const logger = pino(
    {
      level,
      base: null,
      timestamp: stdTimeFunctions.isoTime,
      messageKey: "message",
      errorKey: "error",
      formatters: { level: (label) => ({ level: label }) },
    },
    sink,
  );
  return {
    logger,
    writeLine: (line) => {
      sink.write(`${line}\n`);
    },
    flush: () => sink.flush(),
  };
}

/** The most octets that are collected before they are written, and the longest time. */
const BATCH_LENGTH = 64 * 1024;
const BATCH_MS = 50;
/** With so much of lines it is worth encoding them: one by one they took a tenth of a line's time more. */
const GROUP_LENGTH = 4 * 1024;
/** The most octets that one unit of a text becomes. */
const OCTETS_OF_UNIT = 3;

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
  /** The latest lines, which are not octets yet. */
  #lines = "";
  /**
   * Octets, as texts that wait long are put together from pieces which the collector has to copy: with
   * them a line took a fifth more time.
   */
  #batch = Buffer.allocUnsafeSlow(BATCH_LENGTH);
  /** The one that was written before, for the next turn: a fast reader needs no third. */
  #idle: Buffer<ArrayBuffer> | undefined;
  #length = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream;
    // Nobody reads the log any more: that ends the log, not the daemon.
    stream.on("error", () => undefined);
  }

  write(text: string): void {
    this.#lines += text;
    this.#timer ??= setTimeout(() => this.#send(), BATCH_MS).unref();
    if (this.#lines.length >= GROUP_LENGTH) this.#encode();
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

  #encode(): void {
    const lines = this.#lines;
    this.#lines = "";
    if (!this.#hasRoomFor(lines)) this.#sendBatch();
    if (this.#hasRoomFor(lines)) this.#length += this.#batch.write(lines, this.#length);
    else this.#pass(lines);
  }

  #hasRoomFor({ length }: string): boolean {
    return length * OCTETS_OF_UNIT <= BATCH_LENGTH - this.#length;
  }

  #send(done?: () => void): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#encode();
    this.#sendBatch(done);
  }

  #sendBatch(done?: () => void): void {
    const batch = this.#batch;
    const octets = batch.subarray(0, this.#length);
    this.#batch = this.#idle ?? Buffer.allocUnsafeSlow(BATCH_LENGTH);
    this.#idle = undefined;
    this.#length = 0;
    this.#pass(octets, () => {
      this.#idle = batch;
      done?.();
    });
  }

  #pass(batch: Buffer | string, done?: () => void): void {
    const isStalled = (this.#stream.writableLength ?? 0) > MAX_PENDING_BYTES;
    try {
      this.#stream.write(isStalled ? "" : batch, done);
    } catch {
      // A file is written at once, and its disk may be full.
      done?.();
    }
  }
}

/** Members of every line, and those that say whose call it belongs to. */
const OWN_MEMBERS: ReadonlySet<string> = new Set([
  ...["level", "time", "message"],
  ...["endpoint", "agent_id", "request_id", "task_id", "trace_id"],
]);

/**
 * The fields of code that the daemon serves. One that bears the name of an own member gets a `_` behind it: twice
 * in a line, readers would take one of the two, and not all the same.
 */
export function besideOwn(fields: object, alsoOwn: readonly string[] = []): JsonRecord {
  const isOwn = (name: string): boolean => OWN_MEMBERS.has(name) || alsoOwn.includes(name);
  const isClear = !Object.keys(fields).some(isOwn);
  if (isClear) return fields as JsonRecord;
  const renamed = Object.entries(fields).map(([name, value]) => [
    isOwn(name) ? `${name}_` : name,
    value,
  ]);
  return Object.fromEntries(renamed);
}
