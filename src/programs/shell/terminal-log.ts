/**
 * The log on a terminal: lines that people read, instead of JSON. A text that anybody sent is shown
 * without the control characters by which it could take the terminal over.
 */
import { prettyFactory } from "pino-pretty";
import { isRecord } from "../../base/json-value.ts";
import type { LogSink } from "../../base/log.ts";
import { defuse } from "./terminal.ts";

/** A sink that has lines for people written to another one. */
export function readableLog(sink: LogSink, hasColour: boolean): LogSink {
  const format = prettyFactory({
    colorize: hasColour,
    messageKey: "message",
    errorLikeObjectKeys: ["error"],
    translateTime: "SYS:HH:MM:ss.l",
    singleLine: true,
  });
  return {
    write: (text) => {
      for (const line of text.split("\n")) {
        if (line !== "") sink.write(format(defused(line)));
      }
    },
    flush: () => sink.flush(),
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
