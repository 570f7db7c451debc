/** What a question costs, counted in rows and comparisons: bounded, whatever is asked of whatever. */
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { atOnce, type Paced } from "../../../src/base/paced.ts";
import { ANONYMOUS } from "../../../src/dispatch/caller/caller.ts";
import { weighWords } from "../../../src/modules/search/confidence.ts";
import type { SearchEntry } from "../../../src/modules/search/entry.ts";
import { compileFilter } from "../../../src/modules/search/filter.ts";
import { questionWork, scoringWords } from "../../../src/modules/search/scores.ts";
import { warmingUp } from "../../../src/modules/search/search.ts";
import { buildingIndex } from "../../../src/modules/search/search-index.ts";
import { isWithinEdits, SlipIndex, Vocabulary } from "../../../src/modules/search/vocabulary.ts";

function entryOf(name: string, more: Partial<SearchEntry> = {}): SearchEntry {
  return {
    ...{ kind: "endpoint", id: name, prominence: 1, facets: {}, texts: { name } },
    ...{ isVisibleTo: () => true, show: () => undefined },
    ...more,
  };
}

function stepsOf(work: Paced<unknown>): number {
  let steps = 0;
  while (work.next().done !== true) steps += 1;
  return steps;
}

/** Levenshtein's table, for comparison. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (let i = 1; i <= one.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= other.length; j += 1) {
      const same = one[i - 1] === other[j - 1] ? 0 : 1;
      const [above = 0, left = 0, corner = 0] = [row[j], next[j - 1], row[j - 1]];
      next.push(Math.min(above + 1, left + 1, corner + same));
    }
    row = next;
  }
  return row[other.length] ?? 0;
}

const letters = fc.stringMatching(/^[abc]{6,12}$/);

describe("a slip index", () => {
  it("finds every word that is within the edits, and no other", () => {
    fc.assert(
      fc.property(fc.uniqueArray(letters, { maxLength: 40 }), letters, (words, asked) => {
        const index = new SlipIndex();
        for (const [number, word] of words.entries()) index.add(word, number);
        for (const edits of [1, 2] as const) {
          const { slips } = index.find(asked, edits, 1000, words);
          const expected = words.filter((word) => distance(word, asked) <= edits);
          expect(slips.map((number) => words[number]).sort()).toEqual(expected.sort());
        }
      }),
    );
  });

  it("agrees with the table on what is within so many edits", () => {
    fc.assert(
      fc.property(letters, letters, fc.integer({ min: 0, max: 2 }), (one, other, edits) => {
        expect(isWithinEdits(one, other, edits)).toBe(distance(one, other) <= edits);
      }),
    );
  });

  it("compares no more words than it may", () => {
    const words = Array.from({ length: 5000 }, (_, at) => `aaaa${at.toString(36)}zz`);
    const index = new SlipIndex();
    for (const [number, word] of words.entries()) index.add(word, number);
    expect(index.find("aaaaqqqzz", 2, 100, words).compared).toBe(100);
  });

  it("compares few of many words that are different", () => {
    const words = Array.from({ length: 20_000 }, (_, at) =>
      ((at * 2_654_435_761) % 2 ** 32).toString(36),
    );
    const index = new SlipIndex();
    for (const [number, word] of words.entries()) index.add(word, number);
    expect(index.find("forecast", 2, 20_000, words).compared).toBeLessThan(500);
  });
});

describe("a vocabulary", () => {
  it("has the words that begin with another one, the shortest first", () => {
    const vocabulary = new Vocabulary();
    for (const word of ["shipment", "ship", "shipper", "shop", "zebra"]) vocabulary.add(word);
    atOnce(vocabulary.complete());
    const longer = vocabulary.longerThan("ship", 10).map((number) => vocabulary.words[number]);
    expect(longer).toEqual(["shipper", "shipment"]);
    expect(vocabulary.longerThan("ship", 1)).toHaveLength(1);
    expect(vocabulary.longerThan("none", 10)).toEqual([]);
  });

  it("sorts any number of words", () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.stringMatching(/^[a-d]{1,6}$/), { maxLength: 2000 }),
        (words) => {
          const vocabulary = new Vocabulary();
          for (const word of words) vocabulary.add(word);
          atOnce(vocabulary.complete());
          const expected = words.filter((word) => word.startsWith("ab") && word !== "ab");
          const longer = vocabulary
            .longerThan("ab", 2000)
            .map((number) => vocabulary.words[number]);
          expect(longer.sort()).toEqual(expected.sort());
        },
      ),
      { numRuns: 20 },
    );
  });
});

describe("an index of very many entries", () => {
  const COUNT = 4000;
  const SHARED = "order price status report customer";

  const many = Array.from({ length: COUNT }, (_, at) =>
    entryOf(`${SHARED} reporting reporter word${at} orde${at}`),
  );
  const index = atOnce(buildingIndex(many));

  function weigh(text: string) {
    return weighWords(text.split(" "), index);
  }

  it("is built in steps of an entry or a few thousand rows", () => {
    expect(stepsOf(buildingIndex(many))).toBeGreaterThan(COUNT);
  });

  it("looks at so many rows beside those of the words themselves, and at no more", () => {
    const work = questionWork();
    work.inexactRows = 10_000;
    atOnce(scoringWords(index, weigh("repo rep report orde ord show fetch view charge"), work));
    expect(work.inexactRows).toBeGreaterThanOrEqual(0);
  });

  it("compares unknown words with so many known ones, all of them together", () => {
    const work = questionWork();
    const before = work.comparisons;
    const misspelt = Array.from({ length: 32 }, (_, at) => `wrod${at}${at}`).join(" ");
    atOnce(scoringWords(index, weigh(misspelt), work));
    expect(work.comparisons).toBeGreaterThanOrEqual(0);
    expect(before - work.comparisons).toBeLessThanOrEqual(before);
  });

  it("takes many beginnings together for no more words than a few", () => {
    const beginnings = (count: number): string =>
      Array.from({ length: count }, (_, at) => "word".slice(0, 3 + (at % 2)) + (at % 2 ? at : ""))
        .slice(0, count)
        .join(" ");
    const longer = vi.spyOn(Vocabulary.prototype, "longerThan");
    atOnce(scoringWords(index, weigh(beginnings(64)), questionWork()));
    const asked = longer.mock.calls.reduce((sum, [, most]) => sum + most, 0);
    longer.mockRestore();
    expect(asked).toBeGreaterThan(1000);
    expect(asked).toBeLessThanOrEqual(2048 + 64);
  });

  it("pauses within a word that all entries have", () => {
    const one = stepsOf(scoringWords(index, weigh("report"), questionWork()));
    expect(one).toBeGreaterThan(1);
  });

  it("costs a misspelt word of 110 letters next to nothing", () => {
    const work = questionWork();
    const before = { ...work };
    atOnce(scoringWords(index, weigh("x".repeat(110)), work));
    expect(before.comparisons - work.comparisons).toBeLessThan(10);
    expect(work.inexactRows).toBe(before.inexactRows);
  });
});

describe("the condition `callable`", () => {
  it("is judged for each class of access, and not for each entry", () => {
    let judged = 0;
    const { meets } = compileFilter({ callable: true });
    const entries = Array.from({ length: 900 }, (_, at) =>
      entryOf(`e${at}`, {
        accessClass: `class ${at % 3}`,
        accessOf: () => {
          judged += 1;
          return { callable: at % 3 === 0, missingScopes: [], obstacles: [] };
        },
      }),
    );
    const asker = { caller: ANONYMOUS, peer: { address: "::1", port: 1 }, zones: undefined };
    expect(entries.filter((entry) => meets(entry, asker))).toHaveLength(300);
    expect(judged).toBe(3);
  });
});

describe("warming up", () => {
  it("asks a large index in steps, and a small one nothing", () => {
    const large = Array.from({ length: 2500 }, (_, at) =>
      entryOf(`e${at}`, { texts: { name: `e${at}`, intent: `Report the word${at} of orders.` } }),
    );
    expect(stepsOf(warmingUp(atOnce(buildingIndex(large))))).toBeGreaterThan(24);
    expect(stepsOf(warmingUp(atOnce(buildingIndex(large.slice(0, 100)))))).toBe(0);
  });
});
