/** The levels of the log, which a command line names before anything that logs is loaded. */

/** From everything to nothing. */
export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
/** The least important line that is logged. */
export type LogLevel = (typeof LOG_LEVELS)[number];
