/**
 * The log: one JSON object a line on stdout, written by pino through one buffered destination.
 * Request lines are put together by hand, because one is written for every request.
 */
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from "pino";

/** A buffered destination that can be emptied. */
export interface LogSink extends DestinationStream {
  flushSync(): void;
}

export interface Log {
  readonly logger: Logger;
  /** One finished line without its line feed. */
  writeLine(line: string): void;
  flush(): void;
}

/** What waits for a slow reader of stdout before lines are dropped, in characters. */
const MAX_PENDING = 16 * 1024 * 1024;

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** A sink on standard output that collects lines for a moment before it writes them. */
export function openStdout(): LogSink {
  const sink = pino.destination({
    dest: 1,
    sync: false,
    minLength: 8192,
    periodicFlush: 50,
    maxLength: MAX_PENDING,
  });
  // Nobody reads the log any more: that ends the log, not the daemon.
  sink.on("error", () => undefined);
  return sink;
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
    flush: () => {
      try {
        sink.flushSync();
      } catch {
        // Not open yet, or closed by the reader: there is nothing left to save.
      }
    },
  };
}
