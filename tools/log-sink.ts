/** The log destination of a daemon that runs as a program. */
import { Console } from "node:console";
import { type LogSink, openStdout } from "../src/base/log.ts";
import type { Terminal } from "../src/programs/shell/terminal.ts";

/** Opens the log: readable lines on a terminal, JSON otherwise; the formatter is loaded on demand. */
export async function openLogSink({ out }: Terminal): Promise<LogSink> {
  moveConsole();
  const sink = openStdout();
  if (!out.isTerminal) return sink;
  const { readableLog } = await import("../src/programs/shell/terminal-log.ts");
  return readableLog(sink, out.hasColour);
}

/** Redirects `console` output of a deployment's functions to standard error: standard output only contains the log. */
export function moveConsole(): void {
  globalThis.console = new Console(process.stderr);
}
