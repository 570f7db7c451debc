import { describe, expect, it } from "vitest";
import { createLog } from "../../../src/base/log.ts";
import { readableLog } from "../../../src/programs/shell/terminal-log.ts";

function logged(write: (log: ReturnType<typeof createLog>) => void, hasColour = false): string {
  let text = "";
  const sink = {
    write: (part: string) => {
      text += part;
    },
    flush: () => Promise.resolve(),
  };
  write(createLog("info", readableLog(sink, hasColour)));
  return text;
}

describe("the log on a terminal", () => {
  it("has a line for people where a pipe has JSON", () => {
    const text = logged(({ logger }) =>
      logger.info({ event: "listening", port: 4480 }, "listening"),
    );
    expect(text).toMatch(
      /^\[\d\d:\d\d:\d\d\.\d{3}\] INFO: listening \{"event":"listening","port":4480\}\n$/,
    );
  });

  it("has lines that are put together by hand as well, several at once", () => {
    const line = '{"level":"warn","time":"2026-11-23T02:46:32.918Z","message":"slow"}';
    const text = logged((log) => log.writeLine(`${line}\n${line}`));
    expect(text.match(/WARN: slow/g)).toHaveLength(2);
  });

  it("lets no stranger's text take the terminal over", () => {
    const attack = "a\u001b[2Jb\u202ec";
    const text = logged(({ logger }) => {
      logger.error({ error: new Error(attack), path: attack, [attack]: 1 }, attack);
    });
    expect(text).toContain("ERROR: a\ufffd[2Jb\ufffdc");
    expect(text).not.toMatch(/[\u001b\u202e]/);
  });

  it("has colours where they are wanted", () => {
    const write = ({ logger }: ReturnType<typeof createLog>): void => logger.info("a");
    expect(logged(write, true)).toContain("\u001b[");
    expect(logged(write, false)).not.toContain("\u001b[");
  });
});
