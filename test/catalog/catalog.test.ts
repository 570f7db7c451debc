import { describe, expect, it } from "vitest";
import {
  catalogWarning,
  FLOOR_GROUPS,
  FLOOR_METHODS,
  isMethodName,
  type Verb,
} from "../../src/catalog/catalog.ts";

describe("isMethodName", () => {
  // AGTP-API §3.2
  it.each(["PAY", "QUERY", "CONSTRUCTOR", "A".repeat(32)])("accepts %s", (name) => {
    expect(isMethodName(name)).toBe(true);
  });

  it.each(["", "GO", "A".repeat(33), "book", "BOOK2", "X-NEGOTIATE", "BOOK\n", " BOOK", "BÜCHER"])(
    "refuses %j",
    (name) => {
      expect(isMethodName(name)).toBe(false);
    },
  );
});

describe("FLOOR_METHODS", () => {
  it("has seven cognitive, six mechanics and five lifecycle methods, none twice", () => {
    expect(FLOOR_GROUPS.cognitive).toHaveLength(7);
    expect(FLOOR_GROUPS.mechanics).toHaveLength(6);
    expect(FLOOR_GROUPS.lifecycle).toHaveLength(5);
    expect(new Set(FLOOR_METHODS).size).toBe(18);
  });
});

describe("catalogWarning", () => {
  const verb: Verb = { name: "CHECKUP", categories: ["analysis"], description: "Looks again." };

  it("says nothing about a verb that is not deprecated", () => {
    expect(catalogWarning(verb)).toBeUndefined();
    expect(catalogWarning({ ...verb, successor: "AUDIT" })).toBeUndefined();
  });

  // AGTP-API §4.4
  it("names successor and removal where the catalog declares them", () => {
    const deprecated = { ...verb, deprecatedIn: "1.2.0" };
    expect(catalogWarning(deprecated)).toBe("deprecated");
    expect(catalogWarning({ ...deprecated, removedIn: "2.0.0" })).toBe(
      "deprecated; removed_in=2.0.0",
    );
    expect(catalogWarning({ ...deprecated, successor: "AUDIT", removedIn: "2.0.0" })).toBe(
      "deprecated; successor=AUDIT; removed_in=2.0.0",
    );
  });
});
