import { describe, expect, it } from "vitest";
import { flatText, RepeatedTexts } from "../../src/base/kept-text.ts";

describe("flatText", () => {
  it.each(["", "/orders", "Größe: 1\r\n", "日本", "\ud800", "a".repeat(10_000)])(
    "is the text itself: %j",
    (text) => {
      expect(flatText(`x${text}`.slice(1))).toBe(text);
    },
  );
});

describe("RepeatedTexts", () => {
  it.each(["", "o", "owner"])("makes no text a third time: %j on the right", (right) => {
    const made: string[] = [];
    const texts = new RepeatedTexts(4_096, (left, other) => {
      made.push(left);
      return `${left} of ${other}`;
    });
    const lefts = ["agent-0001", "agent-0002", "agent-0003"];
    const rounds = [1, 2, 3, 4].map(() => lefts.map((left) => texts.get(left, right)));
    expect(rounds.at(-1)).toEqual(lefts.map((left) => `${left} of ${right}`));
    expect(made).toEqual([...lefts, ...lefts]);
  });
});
