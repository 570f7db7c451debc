import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Extract,
  type ExtractOptions,
  extractSummary,
} from "../../../../src/modules/search/summarize/extract-summary.ts";
import { cpuMs } from "../../../support/cpu-time.ts";

const LIMITS = { sentences: 3, characters: 500, before: 0, between: 1, focus: "" };

const STORY =
  "The old barn stands at the edge of the village. It was built in 1890 by Dr. Smith. " +
  "The barn is red and has two doors. In winter the villagers keep their hay in the barn. " +
  "The weather was fine yesterday. The village council wants to restore the barn and its doors. " +
  "Restoring it costs forty thousand crowns. My cat likes fish.";

function extract(sources: readonly unknown[], options: Partial<ExtractOptions> = {}): Extract {
  const work = extractSummary(sources, { ...LIMITS, ...options });
  for (let step = work.next(); ; step = work.next()) if (step.done) return step.value;
}

function textsOf({ sentences }: Extract): readonly string[] {
  return sentences.map(({ text }) => text);
}

/** None of which a full stop shortens. */
const word = fc
  .stringMatching(/^[a-z]{1,9}$/)
  .filter((letters) => !["vs", "cf", "ca", "approx", "bzw"].includes(letters));
const sentence = fc
  .array(word, { minLength: 1, maxLength: 12 })
  .map((words) => `X${words.join(" ")}.`);
const text = fc.array(sentence, { maxLength: 40 }).map((sentences) => sentences.join(" "));
const options = fc.record({
  sentences: fc.integer({ min: 1, max: 20 }),
  characters: fc.integer({ min: 1, max: 400 }),
  before: fc.constantFrom(0, 2),
  between: fc.constantFrom(0, 1),
  focus: fc.oneof(fc.constant(""), word),
});

// AGTP "SUMMARIZE"
describe("extractSummary", () => {
  it("takes what most of the source is about, in its order", () => {
    expect(textsOf(extract([STORY]))).toEqual([
      "The old barn stands at the edge of the village.",
      expect.stringContaining("barn"),
      expect.stringContaining("barn"),
    ]);
  });

  it("prefers what the focus is about", () => {
    const { sentences, focused } = extract([STORY], { sentences: 1, focus: "cost in crowns" });
    expect(sentences[0]?.text).toBe("Restoring it costs forty thousand crowns.");
    expect(focused).toBe(1);
  });

  it("does not say the same thing twice while there is something else to say", () => {
    const twice =
      "The barn burned down. The barn burned down. Nobody was hurt. The barn burned down.";
    expect(textsOf(extract([twice], { sentences: 2 }))).toEqual([
      "The barn burned down.",
      "Nobody was hurt.",
    ]);
  });

  it("takes from every source what it says", () => {
    const { sentences, amounts } = extract(["The barn is red.", "The river is deep."]);
    expect(sentences.map(({ source }) => source)).toEqual([0, 1]);
    expect(amounts).toEqual([
      { sentences: 1, characters: 16 },
      { sentences: 1, characters: 18 },
    ]);
  });

  it("reads the members of a JSON value", () => {
    const value = {
      name: "barn",
      doors: 2,
      open: null,
      story: "It is old. It is red.",
      tags: ["a"],
    };
    expect(textsOf(extract([value], { sentences: 9 }))).toEqual([
      "name: barn; doors: 2",
      "It is old.",
      "It is red.",
      "tags: a",
    ]);
  });

  it("begins the best sentence, and says so, where none is short enough", () => {
    const found = extract(["One single sentence that is much too long."], { characters: 20 });
    expect(found).toMatchObject({ isCut: true, sentences: [{ text: "One single sentence" }] });
    expect(found.coverage).toBeLessThan(0.6);
  });

  it("has nothing to say about nothing", () => {
    expect(extract([" \n ", {}, []])).toMatchObject({ sentences: [], isCut: false, coverage: 0 });
  });

  it("says everything, and is sure of it, where that is short enough", () => {
    const found = extract(["It is old. It is red."]);
    expect(found).toMatchObject({ coverage: 1 });
    expect(textsOf(found)).toEqual(["It is old.", "It is red."]);
  });

  it("has the same summary for the same sources", () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 4 }), options, (sources, limits) => {
        expect(extract(sources, limits)).toEqual(extract([...sources], { ...limits }));
      }),
    );
  });

  it("has only sentences of the sources, or the beginning of one", () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 4 }), options, (sources, limits) => {
        const { sentences, isCut } = extract(sources, limits);
        for (const { text: found, source } of sentences) {
          const all = (sources[source] ?? "").split(/(?<=\.) /);
          if (isCut) expect(all.some((one) => one.startsWith(found))).toBe(true);
          else expect(all).toContain(found);
        }
        if (isCut) expect(sentences).toHaveLength(1);
      }),
    );
  });

  it("is never longer than asked", () => {
    fc.assert(
      fc.property(fc.array(text, { maxLength: 4 }), options, (sources, limits) => {
        const { sentences } = extract(sources, limits);
        const prefix = "-".repeat(limits.before);
        const written = sentences.map((one) => prefix + one.text).join("|".repeat(limits.between));
        expect(written.length).toBeLessThanOrEqual(limits.characters);
        expect(sentences.length).toBeLessThanOrEqual(limits.sentences);
      }),
    );
  });

  it("is sure between not at all and completely, and the surer the more it says", () => {
    fc.assert(
      fc.property(fc.array(text, { minLength: 1, maxLength: 4 }), (sources) => {
        const amount = { characters: 100_000 };
        const few = extract(sources, { ...amount, sentences: 1 }).coverage;
        const all = extract(sources, { ...amount, sentences: 200 });
        expect(few).toBeGreaterThanOrEqual(0);
        expect(few).toBeLessThanOrEqual(all.coverage);
        const count = all.amounts.reduce((sum, one) => sum + one.sentences, 0);
        expect(all.coverage).toBe(count === 0 ? 0 : 1);
      }),
    );
  });

  it("never fails, whatever the source is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string({ unit: "binary" }), (value, any) => {
        expect(() => extract([value, any], { focus: any })).not.toThrow();
      }),
    );
  });

  it("reads what is nested more deeply than a stack", () => {
    let deep: unknown = "bottom";
    for (let level = 0; level < 50_000; level += 1) deep = [deep];
    expect(textsOf(extract([deep]))).toEqual(["bottom"]);
  });

  it("takes time in proportion to its source, and pauses", () => {
    const measure = (count: number): { readonly time: number; readonly pauses: number } => {
      const source = Array.from({ length: count }, (_, at) => `Word${at} is about barn ${at % 7}.`);
      const joined = source.join(" ");
      const start = cpuMs();
      let pauses = 0;
      for (const _ of extractSummary([joined], { ...LIMITS, sentences: 50 })) pauses += 1;
      return { time: cpuMs() - start, pauses };
    };
    const fastest = (count: number): number =>
      Math.min(...Array.from({ length: 4 }, () => measure(count).time));
    expect(measure(8000).pauses).toBeGreaterThan(5);
    const few = fastest(1000);
    // Eight times as much; in proportion to its square it would take 64 times as long.
    expect(fastest(8000)).toBeLessThan(32 * Math.max(few, 2));
  });
});
