/** The log levels, in a file of their own, since command lines need them before the log is loaded. */

/** The levels, from everything to nothing. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
/** The lowest level that is logged. */
export type LogLevel = (typeof LOG_LEVELS)[number];
