/**
 * The log on a terminal: lines that people read, instead of JSON. A text that anybody sent is shown
 * without the control characters by which it could take the terminal over.
 */
import { prettyFactory } from "pino-pretty";
import { isRecord } from "../../base/json-value.ts";
import type { LogSink } from "../../base/log.ts";
import { defuse } from "./terminal.ts";

/** The part of a terminal that is written to. */
export interface LogTerminal {
  readonly hasColour: boolean;
  write(text: string): void;
}

/** A log for people; each line is written as it comes. */
export function openTerminalLog(terminal: LogTerminal): LogSink {
  const format = prettyFactory({
    colorize: terminal.hasColour,
    messageKey: "message",
    errorLikeObjectKeys: ["error"],
    translateTime: "SYS:HH:MM:ss.l",
    singleLine: true,
  });
  return {
    write: (text) => {
      for (const line of text.split("\n")) {
        if (line !== "") terminal.write(format(defused(line)));
      }
    },
    flush: () => Promise.resolve(),
  };
}

/** A line whose texts are safe to be shown, names of members too. */
function defused(line: string): string | object {
  try {
    return JSON.parse(line, (_, value: unknown) => {
      if (typeof value === "string") return defuse(value);
      if (!isRecord(value)) return value;
      return Object.fromEntries(Object.entries(value).map(([name, one]) => [defuse(name), one]));
    });
  } catch {
    return defuse(line);
  }
}
