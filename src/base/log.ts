/**
 * The log: one JSON object a line on stdout, written by pino through one destination. Request
 * lines are put together by hand, because one is written for every request.
 */
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from "pino";
import type { LogLevel } from "./log-level.ts";

/** The destination of lines. */
export interface LogSink extends DestinationStream {
  /** Sends what was collected; resolves when it is written, or when nobody takes it. */
  flush(): Promise<void>;
}

/** The log of one process. */
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
