import fc from "fast-check";
import { stringify } from "smol-toml";
import { describe, expect, it } from "vitest";
import { atPointer, fromPointer } from "../../../src/base/dotted-key.ts";
import { parseToml } from "../../../src/base/toml-document.ts";
import { locateKeys, placeOf } from "../../../src/programs/upgrade/scan.ts";

describe("locateKeys", () => {
  it("knows lines, columns and ranges of values in every form", () => {
    const text = `a = "x"\n"b".c = ['y', # no\n  """z"""]\n[[d]]\ne = { f = "v" }\n[d.g]\n"h.i" = "w"\n`;
    const places = locateKeys(text);
    const shown = [...places].map(([key, { line, column, range }]) => {
      return [key, line, column, range === undefined ? "" : text.slice(...range)];
    });
    expect(shown).toEqual([
      ["a", 1, 1, '"x"'],
      ["b.c", 2, 1, ""],
      ["b.c[0]", 2, 10, "'y'"],
      ["b.c[1]", 3, 3, '"""z"""'],
      ["d[0]", 4, 1, ""],
      ["d[0].e", 5, 1, ""],
      ["d[0].e.f", 5, 7, '"v"'],
      ["d[0].g", 6, 1, ""],
      ['d[0].g."h.i"', 7, 1, '"w"'],
    ]);
  });

  it("finds every text of every file that the daemon reads", () => {
    const key = fc.stringMatching(/^[A-Za-z0-9_.\u00e9 -]{1,8}$/);
    const { tree } = fc.letrec((tie) => ({
      tree: fc.dictionary(
        key,
        fc.oneof({ depthSize: "small" }, fc.string(), tie("list"), tie("tree")),
        {
          maxKeys: 4,
        },
      ),
      list: fc.oneof(
        fc.array(fc.string(), { maxLength: 3 }),
        fc.array(tie("tree"), { maxLength: 3 }),
      ),
    }));
    fc.assert(
      fc.property(tree, (value) => {
        const text = stringify(value);
        const { table } = parseToml(text);
        const places = locateKeys(text);
        for (const pointer of textPointers(table, "")) {
          const range = places.get(fromPointer(pointer, table))?.range;
          const written = text.slice(...(range ?? [0, 0]));
          expect(parseToml(`v = ${written}`).table?.["v"]).toBe(atPointer(pointer, table));
        }
      }),
      { numRuns: 200 },
    );
  });

  it("gives up on what exhausts the locating parser, and on what is no TOML", () => {
    expect(locateKeys(`a = "${"x".repeat(900_000)}"`).size).toBe(0);
    expect(locateKeys("a = ").size).toBe(0);
  });

  it("offers nothing for replacement under names that are written alike", () => {
    const long = "k".repeat(100);
    const places = locateKeys(`${long}1 = "a"\n${long}2 = "b"\n`);
    expect([...places.values()]).toEqual([{ line: 2, column: 1 }]);
  });
});

describe("placeOf", () => {
  it("is the line of the closest table around what is not written", () => {
    const places = locateKeys("[a]\nb = 1\n[[a.c]]\n");
    expect(placeOf(places, "a.b")?.line).toBe(2);
    expect(placeOf(places, "a.c[0].d[3].e")?.line).toBe(3);
    expect(placeOf(places, "a.x")?.line).toBe(1);
    expect(placeOf(places, "z.y[0]")).toBeUndefined();
  });
});

/** JSON Pointers of all texts in a value. */
function textPointers(value: unknown, pointer: string): readonly string[] {
  if (typeof value === "string") return [pointer];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, member]) =>
    textPointers(member, `${pointer}/${name.replaceAll("~", "~0").replaceAll("/", "~1")}`),
  );
}
