/**
 * The log: one JSON object a line on stdout, written by pino through one destination. Request lines
 * are formatted by hand, since there is one for every request. Lines are buffered briefly and
 * written together. A stalled or absent reader, or a full disk, never stops the daemon or its exit:
 * lines that cannot be written are dropped.
 */
import { Buffer } from "node:buffer";
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from "pino";
import type { JsonRecord } from "./json-value.ts";
import type { LogLevel } from "./log-level.ts";

export interface LogSink extends DestinationStream {
  /** Writes the buffered lines; resolves once they are written, or cannot be. */
  flush(): Promise<void>;
}

export interface Log {
  readonly logger: Logger;
  /** Writes a finished line, given without its line feed. */
  writeLine(line: string): void;
  flush(): Promise<void>;
}

/** Creates a log on a sink. */
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

/** The maximum number of octets, and the longest time, that lines are buffered. */
const BATCH_LENGTH = 64 * 1024;
const BATCH_MS = 50;
/** The length from which lines are encoded together: one by one they took a tenth of a line's time more. */
const GROUP_LENGTH = 4 * 1024;
/** The maximum number of octets per UTF-16 code unit. */
const OCTETS_OF_UNIT = 3;

/** The number of octets waiting for a slow reader above which lines are dropped. */
const MAX_PENDING_BYTES = 16 * 1024 * 1024;

/** The longest time that an exit waits for the last lines to be read. */
const LAST_FLUSH_MS = 500;

/**
 * Opens the process's sink. Files and terminals are written synchronously, pipes when their reader
 * has room.
 */
export function openStdout(stream: NodeJS.WritableStream = process.stdout): LogSink {
  return new BatchingSink(stream);
}

class BatchingSink implements LogSink {
  readonly #stream: NodeJS.WritableStream & { readonly writableLength?: number };
  /** The latest lines, not encoded yet. */
  #lines = "";
  /**
   * Encoded lines: long-lived texts are ropes that the garbage collector must copy, which took a
   * fifth more time per line.
   */
  #batch = Buffer.allocUnsafeSlow(BATCH_LENGTH);
  /** The batch written before, for reuse; a fast reader needs no third one. */
  #idle: Buffer<ArrayBuffer> | undefined;
  #length = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream;
    // A broken stream ends the log, but not the daemon.
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
      // A file is written synchronously, and its disk may be full.
      done?.();
    }
  }
}

/** The members of every line, and those that identify its call. */
const OWN_MEMBERS: ReadonlySet<string> = new Set([
  ...["level", "time", "message"],
  ...["endpoint", "agent_id", "request_id", "task_id", "trace_id"],
]);

/**
 * Renames fields of operators' code that equal one of the line's own members, by appending `_`: of
 * duplicate members, readers would take different ones.
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
