/** The destination of the log of a daemon that is a program of its own. */
import { Console } from "node:console";
import { type LogSink, openStdout } from "../src/base/log.ts";
import type { Terminal } from "../src/programs/shell/terminal.ts";

/** Lines for people on a terminal, JSON for everything else; what makes the former is loaded there. */
export async function openLogSink({ out }: Terminal): Promise<LogSink> {
  moveConsole();
  const sink = openStdout();
  if (!out.isTerminal) return sink;
  const { readableLog } = await import("../src/programs/shell/terminal-log.ts");
  return readableLog(sink, out.hasColour);
}

/** Sends prints of a deployment's functions by `console` to standard error: standard output has the log alone. */
export function moveConsole(): void {
  globalThis.console = new Console(process.stderr);
}
