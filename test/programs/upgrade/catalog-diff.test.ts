import { describe, expect, it } from "vitest";
import {
  diffCatalogs,
  judgeVersion,
  successorOf,
} from "../../../src/programs/upgrade/catalog-diff.ts";
import { type CatalogJson, makeCatalog, makeVerb } from "../../support/catalog-versions.ts";

type Change = (catalog: CatalogJson) => void;

const nothing: Change = () => undefined;
const to =
  (version: string, change: Change = nothing): Change =>
  (catalog) => {
    catalog.version = version;
    change(catalog);
  };
const add: Change = ({ verbs }) => {
  verbs["AUDITLOG"] = makeVerb();
};
const remove: Change = ({ verbs }) => {
  delete verbs["BOOK"];
};
const deprecate: Change = ({ verbs }) => {
  verbs["BOOK"] = makeVerb("Books.", {
    deprecated_in: "1.1.0",
    removed_in: "2.0.0",
    successor: "RESERVE",
  });
};
const redescribe: Change = ({ verbs }) => {
  verbs["SELL"] = { ...makeVerb(), ...verbs["SELL"], description: "Sells, in other words." };
};
const recategorise: Change = ({ verbs }) => {
  verbs["SELL"] = { ...makeVerb(), categories: ["mechanics", "transaction"] };
};

function diff(older: Change, newer: Change) {
  const [from, after] = [makeCatalog(older), makeCatalog(newer)];
  const changes = diffCatalogs(from, after);
  return { changes, verdict: judgeVersion(from, after, changes) };
}

const names = (pairs: readonly { readonly newer: { readonly name: string } }[]) =>
  pairs.map(({ newer }) => newer.name);

// AGTP-API §4.7
describe("diffCatalogs", () => {
  it("finds nothing between a catalog and itself, whatever the order of its file", () => {
    const { changes, verdict } = diff(nothing, (catalog) => {
      catalog.verbs = Object.fromEntries(Object.entries(catalog.verbs).toReversed());
      for (const verb of Object.values(catalog.verbs)) verb.categories.reverse();
      catalog.embedded.reverse();
    });
    for (const list of Object.values(changes)) {
      expect(Array.isArray(list) ? list : Object.values(list).flat()).toEqual([]);
    }
    expect(verdict).toEqual({ raised: "none", needed: "none", faults: [], notes: [] });
  });

  it("tells added, removed, deprecated, undeprecated, recategorised and redescribed apart", () => {
    const { changes } = diff(
      ({ verbs }) => {
        verbs["SEARCH"] = makeVerb("Searches.", { deprecated_in: "1.0.0" });
      },
      (catalog) => {
        add(catalog);
        delete catalog.verbs["SELL"];
        deprecate(catalog);
        catalog.verbs["SEARCH"] = makeVerb("Searches.");
        catalog.verbs["RESERVE"] = { ...makeVerb(), categories: ["mechanics"] };
      },
    );
    expect(changes.added.map(({ name }) => name)).toEqual(["AUDITLOG"]);
    expect(changes.removed.map(({ name }) => name)).toEqual(["SELL"]);
    expect(names(changes.deprecated)).toEqual(["BOOK"]);
    expect(names(changes.undeprecated)).toEqual(["SEARCH"]);
    expect(names(changes.recategorised)).toEqual(["RESERVE"]);
    expect(names(changes.redescribed)).toEqual(["BOOK", "RESERVE"]);
    expect(changes.redated).toEqual([]);
  });

  it("sees another successor, another end, and changes of the other sections", () => {
    const { changes } = diff(deprecate, (catalog) => {
      deprecate(catalog);
      Object.assign(catalog.verbs["BOOK"] ?? {}, { successor: "SELL" });
      catalog.legacy = { ...catalog.legacy, GET: { preferred: "QUERY", description: "Reads." } };
      delete catalog.legacy["PATCH"];
      catalog.categories["barter"] = "Goods for goods.";
    });
    expect(names(changes.redated)).toEqual(["BOOK"]);
    expect(changes.legacy).toEqual({
      added: [],
      removed: ["PATCH"],
      changed: [{ name: "GET", older: "FETCH", newer: "QUERY" }],
    });
    expect(changes.categories.added).toEqual(["barter"]);
  });
});

// AGTP-API §4.1
describe("judgeVersion", () => {
  it.each([
    ["1.0.1", redescribe, "patch"],
    ["1.0.1", recategorise, "patch"],
    ["1.1.0", redescribe, "patch"],
    ["1.1.0", add, "minor"],
    ["1.1.0", deprecate, "minor"],
    ["2.0.0", remove, "major"],
    ["2.0.0", nothing, "none"],
    ["2.0.0-rc.1", remove, "major"],
  ] as const)("is content with %s where the content says so", (version, change, needed) => {
    const { verdict } = diff(nothing, to(version, change));
    expect(verdict).toMatchObject({ needed, faults: [] });
  });

  it.each([
    ["1.0.1", add, "a PATCH version, 1.0.0 -> 1.0.1, adds AUDITLOG; expected 1.1.0 or later"],
    [
      "1.0.1",
      deprecate,
      "a PATCH version, 1.0.0 -> 1.0.1, deprecates BOOK; expected 1.1.0 or later",
    ],
    ["1.0.1", remove, "a PATCH version, 1.0.0 -> 1.0.1, removes BOOK; expected 2.0.0 or later"],
    ["1.1.0", remove, "a MINOR version, 1.0.0 -> 1.1.0, removes BOOK; expected 2.0.0 or later"],
    ["1.0.0", add, "the content changed and the version did not, expected 1.1.0 or later"],
    ["1.0.0", redescribe, "the content changed and the version did not, expected 1.0.1 or later"],
    ["0.9.0", nothing, "the version goes back, 1.0.0 -> 0.9.0"],
    ["1.0.0-rc.1", nothing, "the version goes back, 1.0.0 -> 1.0.0-rc.1"],
  ] as const)("calls it the publisher's error that %s …", (version, change, fault) => {
    expect(diff(nothing, to(version, change)).verdict?.faults).toEqual([fault]);
  });

  it("counts the removal of a legacy verb as one, and a new mapping as no matter of words", () => {
    const unmap = to("1.1.0", ({ legacy }) => void delete legacy["PATCH"]);
    expect(diff(nothing, unmap).verdict).toMatchObject({ needed: "major", raised: "minor" });
    const remap = to("1.0.1", ({ legacy }) => {
      legacy["GET"] = { preferred: "QUERY", description: legacy["GET"]?.description ?? "" };
    });
    expect(diff(nothing, remap).verdict?.faults[0]).toContain("maps anew GET");
  });

  it("lets candidates of one release change what the release may", () => {
    const later = to("2.0.0-rc.2", remove);
    expect(diff(to("2.0.0-rc.1"), later).verdict).toMatchObject({
      raised: "prerelease",
      faults: [],
    });
    const minor = to("1.1.0-rc.2", remove);
    expect(diff(to("1.1.0-rc.1"), minor).verdict?.faults).toHaveLength(1);
  });

  it("notes removals that came unannounced or early, and announcements that do not add up", () => {
    expect(diff(nothing, to("2.0.0", remove)).verdict?.notes).toEqual([
      "removed without having been deprecated before: BOOK",
    ]);
    const { verdict } = diff(
      ({ verbs }) => {
        verbs["BOOK"] = makeVerb("Books.", { deprecated_in: "1.0.0", removed_in: "3.0.0" });
      },
      to("2.0.0", (catalog) => {
        remove(catalog);
        catalog.verbs["SELL"] = makeVerb("Sells.", { deprecated_in: "1.0.0", removed_in: "2.0.0" });
        catalog.verbs["SEARCH"] = makeVerb("Finds.", {
          deprecated_in: "2.0.0",
          removed_in: "2.1.0",
        });
      }),
    );
    expect(verdict?.notes.toSorted()).toEqual([
      "BOOK is removed before 3.0.0, as was announced",
      "SEARCH is to be removed in 2.1.0, which is no MAJOR version later",
      "SELL was to be removed in 2.0.0",
    ]);
  });

  it("notes a deprecation that is yet to come, and none of a release for its candidate", () => {
    const deprecatedIn = (version: string) =>
      diff(
        nothing,
        to("2.0.0-rc.1", (catalog) => {
          catalog.verbs["SELL"] = makeVerb("Sells.", { deprecated_in: version });
        }),
      ).verdict?.notes;
    expect(deprecatedIn("2.0.0")).toEqual([]);
    expect(deprecatedIn("2.1.0")).toEqual(["SELL is deprecated in 2.1.0, which is yet to come"]);
  });

  it("gives no verdict on what only looks like a version", () => {
    expect(diff(nothing, to("1.0.0-01")).verdict).toBeUndefined();
    expect(diff(nothing, to("99999999999999999999.0.0")).verdict).toBeUndefined();
  });
});

describe("successorOf", () => {
  const chain = (catalog: CatalogJson, links: Readonly<Record<string, string>>): void => {
    for (const [name, successor] of Object.entries(links)) {
      catalog.verbs[name] = makeVerb(name, { deprecated_in: "1.0.0", successor });
    }
  };

  it("follows successors that are gone as well", () => {
    const older = makeCatalog((catalog) => chain(catalog, { BOOK: "SELL", SELL: "RESERVE" }));
    const newer = makeCatalog(({ verbs }) => {
      delete verbs["BOOK"];
      delete verbs["SELL"];
    });
    expect(successorOf("BOOK", older, newer)).toBe("RESERVE");
    expect(successorOf("RESERVE", older, newer)).toBeUndefined();
  });

  it("ends where successors go round in circles", () => {
    const older = makeCatalog((catalog) => chain(catalog, { BOOK: "SELL", SELL: "BOOK" }));
    const newer = makeCatalog(({ verbs }) => {
      delete verbs["BOOK"];
      delete verbs["SELL"];
    });
    expect(successorOf("BOOK", older, newer)).toBeUndefined();
  });
});
