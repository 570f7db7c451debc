/**
 * Formats the log for people on a terminal, instead of JSON. Control characters are removed from
 * every text, because they could take over the terminal.
 */
import { prettyFactory } from "pino-pretty";
import { isRecord } from "../../base/json-value.ts";
import type { LogSink } from "../../base/log.ts";
import { defuse } from "./terminal.ts";

/** Creates a sink that writes readable lines to another one. */
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

/** Makes the texts of a line safe to display, including names of members. */
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
