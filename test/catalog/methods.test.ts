import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { type Catalog, FLOOR_METHODS, HTTP_VERBS } from "../../src/catalog/catalog.ts";
import { loadCatalog } from "../../src/catalog/catalog-file.ts";

function shipped(): Catalog {
  const path = fileURLToPath(new URL("../../catalog/methods.json", import.meta.url));
  const { catalog, problems } = loadCatalog(path, "catalog/methods.json");
  expect(problems).toEqual([]);
  return catalog!;
}

describe("catalog/methods.json", () => {
  const catalog = shipped();

  it("is version 1.0.0, with 425 verbs in nine categories", () => {
    expect(catalog.version).toBe("1.0.0");
    expect(catalog.verbs.size).toBe(425);
    expect([...catalog.categories.keys()]).toEqual([
      "discovery",
      "retrieval",
      "analysis",
      "transaction",
      "modification",
      "creation",
      "notification",
      "mechanics",
      "domain_spanning",
    ]);
  });

  it("has the floor, and the five HTTP verbs with their replacements", () => {
    expect([...catalog.embedded].sort()).toEqual([...FLOOR_METHODS].sort());
    expect([...catalog.legacy.keys()]).toEqual([...HTTP_VERBS]);
    expect([...catalog.legacy.values()].map((verb) => verb.preferred)).toEqual([
      "FETCH",
      "CREATE",
      "REPLACE",
      "REMOVE",
      "MODIFY",
    ]);
    for (const verb of HTTP_VERBS) expect(catalog.has(verb)).toBe(false);
  });

  it("describes every verb in one sentence that no other verb has", () => {
    const descriptions = [...catalog.verbs.values()].map((verb) => verb.description);
    expect(new Set(descriptions).size).toBe(descriptions.length);
    for (const description of descriptions) {
      expect(description).toMatch(/^[A-Z][^.]*\.$/);
      const words = description.split(" ").length;
      expect(words, description).toBeGreaterThanOrEqual(8);
      expect(words, description).toBeLessThanOrEqual(22);
    }
  });

  it("deprecates nothing yet", () => {
    expect([...catalog.verbs.values()].filter((verb) => verb.deprecatedIn)).toEqual([]);
  });
});
