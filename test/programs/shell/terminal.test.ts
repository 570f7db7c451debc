/** Texts that somebody else wrote, as they reach a terminal. */
import { describe, expect, it } from "vitest";
import { printJson } from "../../../src/programs/shell/print-json.ts";
import { defuse, defuseLine } from "../../../src/programs/shell/terminal.ts";

/** Texts that take a terminal over, change the order of others, or are not seen. */
const DECEPTIVE: readonly string[] = [
  ...["\u001b", "\u0007", "\r", "\u007f", "\u009b", "\u200e", "\u202e", "\u2066", "\u2069"],
  ...["\u061c", "\u2028", "\u2029", "\ufffb", "\u200b", "\u200d", "\u2060", "\ufeff", "\u00ad"],
  ...["\u{e0041}", "\u{e007f}", "\ufe0f", "\u3164"],
];

describe("defuse", () => {
  it.each(DECEPTIVE.map((one) => [one.codePointAt(0)?.toString(16), one]))(
    "shows that U+%s is there",
    (_, one) => {
      expect(defuse(`a${one}b`)).toBe("a\ufffdb");
    },
  );

  it("leaves what is seen as it is", () => {
    const text = "größer\t予約 ✈\ufe0f 👍🏽 👩🏽\u200d💻\nمرحبا می\u200cخواهم क्\u200dष";
    expect(defuse(text)).toBe(text);
    expect(defuseLine(" a\n b ")).toBe("a b");
  });
});

describe("printJson", () => {
  const document = { name: DECEPTIVE.join(""), [`k${DECEPTIVE.join("")}`]: ["größer", 1] };
  const printed = (isTerminal: boolean): string => {
    let text = "";
    printJson(document, {
      write: (part) => {
        text += part;
      },
      ...{ isTerminal, hasColour: false },
    });
    return text;
  };

  it("is the same document where a person reads it, and deceives nobody", () => {
    const text = printed(true);
    expect(defuse(text)).toBe(text);
    expect(text).toContain("größer");
    expect(JSON.parse(text)).toEqual(document);
  });

  it("has the characters as they are where a program reads it", () => {
    expect(printed(false)).toContain("\u{e0041}");
    expect(JSON.parse(printed(false))).toEqual(document);
  });
});
