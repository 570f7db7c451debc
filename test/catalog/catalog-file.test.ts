import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { formatProblem, isError, type Problem } from "../../src/base/problem.ts";
import { FLOOR_METHODS } from "../../src/catalog/catalog.ts";
import { loadCatalog, parseCatalog } from "../../src/catalog/catalog-file.ts";

type Json = Record<string, unknown>;
const entry: Json = { categories: ["mechanics"], description: "Does one thing." };

/** The smallest catalog there can be: the floor and nothing else. */
function minimal(verbs: Json = {}, more: Json = {}): Json {
  const floor = Object.fromEntries(FLOOR_METHODS.map((name) => [name, entry]));
  return {
    version: "3.1.0",
    embedded: [...FLOOR_METHODS],
    legacy: { GET: { preferred: "QUERY", description: "Reads." } },
    categories: { mechanics: "How work is steered.", discovery: "What there is." },
    verbs: { ...floor, ...verbs },
    ...more,
  };
}

function parse(root: unknown): ReturnType<typeof parseCatalog> {
  return parseCatalog(JSON.stringify(root), "methods.json");
}

function printed(problems: readonly Problem[]): readonly string[] {
  return problems.map(formatProblem);
}

describe("parseCatalog", () => {
  it("accepts another version and any subset that has the floor", () => {
    const { catalog, problems } = parse(minimal());
    expect(problems).toEqual([]);
    expect(catalog?.version).toBe("3.1.0");
    expect(catalog?.verbs.size).toBe(18);
    expect(catalog?.has("QUERY")).toBe(true);
    expect(catalog?.has("BOOK")).toBe(false);
  });

  it("reads deprecation metadata", () => {
    const old = { ...entry, deprecated_in: "3.0.0", removed_in: "4.0.0", successor: "QUERY" };
    const { catalog, problems } = parse(minimal({ ASKING: old, PLAIN: entry }));
    expect(problems).toEqual([]);
    expect(catalog?.verbs.get("ASKING")).toEqual({
      name: "ASKING",
      categories: ["mechanics"],
      description: "Does one thing.",
      deprecatedIn: "3.0.0",
      removedIn: "4.0.0",
      successor: "QUERY",
    });
    expect(catalog?.verbs.get("PLAIN")).not.toHaveProperty("deprecatedIn");
  });

  it('accepts "methods" for "verbs", but not both', () => {
    const { verbs, ...rest } = minimal();
    expect(parse({ ...rest, methods: verbs }).catalog?.verbs.size).toBe(18);
    expect(parse({ ...rest, verbs, methods: verbs }).catalog).toBeUndefined();
  });

  it("knows no name that only an object's prototype has", () => {
    const { catalog } = parse(minimal({ CONSTRUCTOR: entry }));
    expect(catalog?.has("CONSTRUCTOR")).toBe(true);
    for (const name of ["constructor", "toString", "__proto__"]) {
      expect(catalog?.has(name)).toBe(false);
      expect(catalog?.legacy.has(name)).toBe(false);
    }
  });

  it("refuses a verb called __proto__", () => {
    const text = JSON.stringify(minimal()).replace('"verbs":{', '"verbs":{"__proto__":{},');
    const { catalog, problems } = parseCatalog(text, "methods.json");
    expect(catalog).toBeUndefined();
    expect(problems.map((problem) => problem.key)).toEqual(["verbs.__proto__"]);
  });

  it.each([
    ["", "is not JSON"],
    ["{", "is not JSON"],
    ["[]", "is an array"],
    ["null", "is null"],
    ['"BOOK"', 'is "BOOK"'],
    ["[".repeat(200_000), "is not JSON"],
    ['{\n  "version": "1.0.0",\n}', "(line 3 column 1)"],
    ["// verbs\n{}", "is not JSON"],
    [
      JSON.stringify(minimal()).replace('"verbs":{', '"verbs":{"BOOK":{},"B\\u004fOK":{},'),
      'has the member "BOOK" twice in one object',
    ],
  ])("refuses the text of case %#", (text, message) => {
    const { catalog, problems } = parseCatalog(text, "methods.json");
    expect(catalog).toBeUndefined();
    expect(problems).toHaveLength(1);
    expect(problems[0]?.message).toContain(message);
    expect(problems[0]?.message).not.toContain("\n");
  });

  const legacy = (value: Json): Json => minimal({}, { legacy: value });
  const verb = (value: unknown): Json => minimal({ TRYOUT: value });
  it.each<[string, Json, string]>([
    ["no version", minimal({}, { version: undefined }), "version: is missing"],
    ["a partial version", minimal({}, { version: "1.0" }), 'version: is "1.0"'],
    ["a version with spaces", minimal({}, { version: "1.0.0 x" }), 'version: is "1.0.0 x"'],
    ["no floor", minimal({}, { embedded: [] }), "embedded: QUERY, DISCOVER"],
    ["a floor that is no list", minimal({}, { embedded: "QUERY" }), 'embedded: is "QUERY"'],
    [
      "a floor with another verb",
      minimal({ BOOK: entry }, { embedded: [...FLOOR_METHODS, "BOOK"] }),
      'embedded[18]: is "BOOK"',
    ],
    [
      "a floor method twice",
      minimal({}, { embedded: [...FLOOR_METHODS, "QUERY"] }),
      'embedded[18]: "QUERY" is listed twice',
    ],
    ["a floor method that is no verb", minimal({ PLAN: undefined }), '"PLAN" is not among'],
    ["an unknown legacy verb", legacy({ HEAD: {} }), "legacy.HEAD: is no legacy verb"],
    ["a legacy verb without details", legacy({ GET: "FETCH" }), 'legacy.GET: is "FETCH"'],
    [
      "a legacy verb that prefers an unknown one",
      legacy({ PUT: { preferred: "PLANN", description: "Puts." } }),
      'legacy.PUT.preferred: "PLANN" is not in the catalog, expected a verb (did you mean PLAN?)',
    ],
    ["no categories", minimal({}, { categories: {} }), "categories: is empty"],
    [
      "a category in capitals",
      minimal({}, { categories: { mechanics: "Work.", Discovery: "What." } }),
      "categories.Discovery: is no category name",
    ],
    ["no verbs", minimal({}, { verbs: undefined }), "verbs: is missing"],
    ["a list of verbs", minimal({}, { verbs: ["BOOK"] }), "verbs: is an array"],
    ["a verb in small letters", minimal({ book: entry }), "verbs.book: is no method name"],
    ["an HTTP verb", minimal({ GET: entry }), "verbs.GET: is an HTTP verb"],
    ["a verb that is a string", verb("x"), 'verbs.TRYOUT: is "x"'],
    ["a verb that is null", verb(null), "verbs.TRYOUT: is null"],
    ["a blank description", verb({ ...entry, description: " " }), "verbs.TRYOUT.description"],
    ["no verb categories", verb({ description: "Is." }), "verbs.TRYOUT.categories: is missing"],
    ["no verb category", verb({ ...entry, categories: [] }), "verbs.TRYOUT.categories: has 0"],
    [
      "an unknown category",
      verb({ ...entry, categories: ["mechanic"] }),
      'verbs.TRYOUT.categories[0]: "mechanic" is not among the categories (did you mean mechanics?)',
    ],
    [
      "a category that is a number",
      verb({ ...entry, categories: [7] }),
      "verbs.TRYOUT.categories[0]: is 7",
    ],
    [
      "a bad deprecation",
      verb({ ...entry, deprecated_in: "soon" }),
      'verbs.TRYOUT.deprecated_in: is "soon"',
    ],
    [
      "an unknown successor",
      verb({ ...entry, deprecated_in: "1.0.0", successor: "QUERRY" }),
      'verbs.TRYOUT.successor: "QUERRY" is not in the catalog, expected a verb (did you mean QUERY?)',
    ],
  ])("reports %s", (_case, root, expected) => {
    const { catalog, problems } = parse(root);
    expect(catalog).toBeUndefined();
    expect(printed(problems).join("\n")).toContain(expected);
  });

  it("only warns of unknown keys, with the key that was meant", () => {
    const root = minimal({ TRYOUT: { ...entry, deprecatedin: "1.0.0" } }, { $schema: "x" });
    const { catalog, problems } = parse(root);
    expect(catalog?.has("TRYOUT")).toBe(true);
    expect(problems.some(isError)).toBe(false);
    expect(printed(problems)).toEqual([
      'methods.json: "$schema": unknown key, ignored',
      "methods.json: verbs.TRYOUT.deprecatedin: unknown key, ignored (did you mean deprecated_in?)",
    ]);
  });

  it("warns of a removal that nothing announces", () => {
    const { catalog, problems } = parse(minimal({ TRYOUT: { ...entry, removed_in: "4.0.0" } }));
    expect(catalog?.has("TRYOUT")).toBe(true);
    expect(printed(problems)).toEqual([
      'methods.json: verbs.TRYOUT: has no "deprecated_in", so nothing announces its deprecation',
    ]);
  });

  it("collects every problem, and past a limit counts them", () => {
    const bad = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [`bad${index}`, entry]),
    );
    const { catalog, problems } = parse(minimal({ ...bad }, { version: 1 }));
    expect(catalog).toBeUndefined();
    expect(problems).toHaveLength(201);
    expect(problems[0]?.key).toBe("version");
    expect(problems.at(-1)?.message).toBe("801 more problems are not listed");
  });

  it("quotes only the beginning of what it refuses", () => {
    const name = `\u001b${"x".repeat(100_000)}`;
    const text = JSON.stringify(minimal({ [name]: entry, TRYOUT: "nested" }));
    const nested = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
    const { problems } = parseCatalog(text.replace('"nested"', nested), "methods.json");
    expect(problems).toHaveLength(2);
    for (const line of printed(problems)) {
      expect(line.length).toBeLessThan(200);
      expect(line).not.toContain("\u001b");
    }
  });
});

describe("loadCatalog", () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "catalog-"));
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  it("reads a file, with or without a byte order mark", () => {
    const path = join(directory, "methods.json");
    writeFileSync(path, `\ufeff${JSON.stringify(minimal())}`);
    const { catalog, problems } = loadCatalog(path, "methods.json");
    expect(problems).toEqual([]);
    expect(catalog?.version).toBe("3.1.0");
  });

  it("reports a file that is missing, a directory, too large or not UTF-8", () => {
    mkdirSync(join(directory, "folder"));
    writeFileSync(join(directory, "large"), " ".repeat(4 * 1024 * 1024 + 1));
    writeFileSync(join(directory, "latin"), Buffer.from([0x7b, 0xff, 0x7d]));
    const messages = ["missing", "folder", "large", "latin"].map((name) => {
      const { catalog, problems } = loadCatalog(join(directory, name), name);
      expect(catalog).toBeUndefined();
      expect(problems).toHaveLength(1);
      return formatProblem(problems[0]!);
    });
    expect(messages).toEqual([
      "missing: does not exist",
      "folder: must be a file, is a directory",
      "large: must be at most 4194304 bytes long, has 4194305",
      "latin: must be UTF-8 text",
    ]);
  });
});
