import { describe, expect, it } from "vitest";
import type { Catalog, Verb } from "../../../src/catalog/catalog.ts";
import { compileCatalogWarnings } from "../../../src/catalog/catalog.ts";
import { methodGate } from "../../../src/dispatch/gates/07-method.ts";
import { makeExchange } from "../../support/exchange.ts";
import { makePolicy } from "../../support/policy.ts";
import { smallCatalog } from "../../support/vocabulary.ts";

function catalogWith(verb: Verb): Catalog {
  const catalog = smallCatalog();
  return { ...catalog, verbs: new Map([...catalog.verbs, [verb.name, verb]]) };
}

const DEPRECATED: Verb = {
  name: "BOOK",
  categories: ["transaction"],
  description: "Books.",
  deprecatedIn: "1.1.0",
  removedIn: "2.0.0",
  successor: "RESERVE",
};

// AGTP-API §3.2
describe("methodGate", () => {
  const gate = methodGate(smallCatalog(), makePolicy());

  it.each(["BOOK", "QUERY", "FROBNICATE"])("admits %s", (method) => {
    expect(gate(makeExchange({ method }))).toBeUndefined();
  });

  it.each(["book", "Book", "BOOKS", "X-NEGOTIATE", "GET", "__proto__", "constructor", "B"])(
    "answers 459 for %s, naming it and the catalog version",
    (method) => {
      expect(gate(makeExchange({ method }))).toMatchObject({
        status: 459,
        code: "method-not-in-catalog",
        carried: { method, catalog_version: "1.0.0" },
      });
    },
  );

  it("suggests up to three close matches, custom methods among them", () => {
    expect(gate(makeExchange({ method: "FROBNICAT" }))?.carried).toMatchObject({
      suggestions: ["FROBNICATE"],
    });
    const suggestions = gate(makeExchange({ method: "RE" }))?.carried?.["suggestions"];
    expect((suggestions as readonly string[]).length).toBeLessThanOrEqual(3);
  });

  it("repeats only the beginning of an absurdly long method", () => {
    const refusal = gate(makeExchange({ method: "Z".repeat(8000) }));
    expect(refusal?.carried?.["method"]).toBe("Z".repeat(64));
  });

  // AGTP-API §4.4
  it("admits a deprecated method, with its warning", () => {
    const exchange = makeExchange({ method: "BOOK" });
    const catalog = catalogWith(DEPRECATED);
    expect(methodGate(catalog, makePolicy({}, catalog))(exchange)).toBeUndefined();
    expect(exchange.catalogWarning).toBe("deprecated; successor=RESERVE; removed_in=2.0.0");
  });
});

describe("compileCatalogWarnings", () => {
  it("leaves out what the catalog does not declare", () => {
    const { removedIn: _removedIn, successor: _successor, ...bare } = DEPRECATED;
    expect([...compileCatalogWarnings(catalogWith(bare))]).toEqual([["BOOK", "deprecated"]]);
  });

  it("is empty for a catalog without deprecated verbs", () => {
    expect(compileCatalogWarnings(smallCatalog()).size).toBe(0);
  });
});
