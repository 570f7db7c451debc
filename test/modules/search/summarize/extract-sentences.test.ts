import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSentenceSplitter } from "../../../../src/modules/search/summarize/extract-sentences.ts";
import { cpuMs } from "../../../support/cpu-time.ts";

const split = createSentenceSplitter();
const sentencesOf = (text: string): readonly string[] =>
  [...split(text)].filter((sentence) => sentence !== undefined);

// Unicode UAX #29
describe("createSentenceSplitter", () => {
  it.each([
    ["Latin", "It is old. Is it red? Yes!", ["It is old.", "Is it red?", "Yes!"]],
    ["Chinese", "谷仓很旧。它是红色的！", ["谷仓很旧。", "它是红色的！"]],
    ["Japanese", "これは本です。赤い。", ["これは本です。", "赤い。"]],
    ["Arabic", "هل هذا قديم؟ نعم.", ["هل هذا قديم؟", "نعم."]],
    ["Devanagari", "यह एक है। दूसरा वाक्य।", ["यह एक है।", "दूसरा वाक्य।"]],
  ])("finds the sentences of %s", (_, text, expected) => {
    expect(sentencesOf(text)).toEqual(expected);
  });

  it("does not end a sentence after an abbreviation, an initial or within a number", () => {
    const text = "Dr. J. R. Smith paid 3.50 crowns, e.g. for hay. He left.";
    expect(sentencesOf(text)).toEqual([
      "Dr. J. R. Smith paid 3.50 crowns, e.g. for hay.",
      "He left.",
    ]);
  });

  it.each(["\ud800", "It is old. \ud800", `${"a".repeat(511)}\ud800`, `${"a".repeat(512)}\udbff`])(
    "comes to the end of a text whose last character is half of one: %j",
    (text) => {
      expect(sentencesOf(text).join(" ").length).toBeLessThanOrEqual(text.length);
    },
  );

  it("joins lines that were wrapped, and no others", () => {
    const text =
      "Title\nA line that goes\non in the next one.\n\n- first item\n2. Second item\nNext";
    expect(sentencesOf(text)).toEqual([
      "Title",
      "A line that goes on in the next one.",
      "first item",
      "Second item",
      "Next",
    ]);
  });

  it("leaves out what has neither letters nor digits", () => {
    expect(sentencesOf("--- *** ...\n\n!!! ??? \t")).toEqual([]);
  });

  it("finds a sentence that is longer than what is looked at in one go", () => {
    const long = `A${" long".repeat(2000)} sentence.`;
    expect(sentencesOf(`Short. ${long} Short again.`)).toEqual(["Short.", long, "Short again."]);
  });

  it("loses no letter and no digit of a text of paragraphs", () => {
    const paragraph = fc.stringMatching(/^[A-Za-z][A-Za-z0-9 .?!,]{0,700}$/);
    const letters = (text: string): string => text.replace(/[^A-Za-z0-9]/g, "");
    fc.assert(
      fc.property(fc.array(paragraph, { maxLength: 5 }), (paragraphs) => {
        const found = sentencesOf(paragraphs.map((text) => `#${text}`).join("\n\n"));
        expect(letters(found.join(""))).toBe(letters(paragraphs.join("")));
      }),
    );
  });

  it("finds in any text only what is in it, but for its white space", () => {
    const plain = (text: string): string => text.replace(/\s+/gu, "");
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 2000 }), (text) => {
        const whole = plain(text);
        for (const sentence of sentencesOf(text)) expect(whole).toContain(plain(sentence));
      }),
    );
  });

  it.each([
    ["short sentences", "Ab. "],
    ["abbreviations", "Dr. "],
    ["characters that end sentences", "。"],
    ["marks of lists", "- "],
    ["lines", "a\n"],
    ["no end at all", "ab "],
  ])("takes time in proportion to its text: %s", (_, unit) => {
    const measure = (length: number): number => {
      const text = unit.repeat(Math.ceil(length / unit.length));
      const start = cpuMs();
      for (const _ of split(text));
      return cpuMs() - start;
    };
    const fastest = (length: number): number =>
      Math.min(...Array.from({ length: 4 }, () => measure(length)));
    const few = fastest(40_000);
    // Eight times the text; in proportion to its square it would be 64 times the time.
    expect(fastest(320_000)).toBeLessThan(32 * Math.max(few, 2));
  });

  it.each([
    ["an abbreviation without end", "A. ", 262_144],
    ["blank lines", "\n", 262_144],
    ["lines without a word", "- \n", 262_144],
    ["stops", ".", 262_144],
    ["white space", " \t", 262_144],
    ["one word", "a", 262_144],
    ["lines that go on", "ab\n", 262_144],
  ])("lets others have their turn, whether or not a sentence ends: %s", (_, unit, length) => {
    let longest = 0;
    let since = seenSoFar();
    const seen = countSegmented(() => {
      for (const one of split(unit.repeat(Math.ceil(length / unit.length)))) {
        longest = Math.max(longest, seenSoFar() - since);
        since = seenSoFar();
        if (one !== undefined) expect(one.length).toBeLessThanOrEqual(2 * 32_768);
      }
    });
    // A window at a time: the segmenter copies it for each segment that it finds.
    expect(longest).toBeLessThanOrEqual(32_768);
    expect(seen).toBeLessThan(4 * length);
  });

  it("looks at the rest of a text once more, not at all of it, after a long sentence", () => {
    const text = `${"b ".repeat(60_000)}. ${"A b. ".repeat(28_000)}`;
    const seen = countSegmented(() => {
      for (const _ of split(text));
    });
    expect(seen).toBeLessThan(4 * text.length);
  });
});

let segmented = 0;
const seenSoFar = (): number => segmented;

/** How many characters the segmenter was given, while something is done. */
function countSegmented(work: () => void): number {
  const before = segmented;
  const { segment: real } = Intl.Segmenter.prototype;
  Intl.Segmenter.prototype.segment = function count(text) {
    segmented += text.length;
    return real.call(this, text);
  };
  try {
    work();
  } finally {
    Intl.Segmenter.prototype.segment = real;
  }
  return segmented - before;
}
