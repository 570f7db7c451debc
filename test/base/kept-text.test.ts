import { describe, expect, it } from "vitest";
import { flatText } from "../../src/base/kept-text.ts";

describe("flatText", () => {
  it.each(["", "/orders", "Größe: 1\r\n", "日本", "\ud800", "a".repeat(10_000)])(
    "is the text itself: %j",
    (text) => {
      expect(flatText(`x${text}`.slice(1))).toBe(text);
    },
  );
});
