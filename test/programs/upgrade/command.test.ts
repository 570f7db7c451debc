import { describe, expect, it } from "vitest";
import { type CatalogJson, catalogJson, makeVerb } from "../../support/catalog-versions.ts";
import { cpuMs } from "../../support/cpu-time.ts";
import { endpointFile } from "../../support/deployment.ts";
import { makeDiffProgram } from "../../support/diff-program.ts";

const older = ({ verbs }: CatalogJson): void => {
  verbs["BOOK"] = makeVerb("Books.", { deprecated_in: "1.0.0", successor: "RESERVE" });
};
const newer = (catalog: CatalogJson): void => {
  catalog.version = "1.1.0";
  delete catalog.verbs["BOOK"];
  catalog.verbs["AUDITLOG"] = makeVerb("Keeps \u001b[31m a log.");
  catalog.verbs["SELL"] = makeVerb("Sells.", { deprecated_in: "1.1.0", removed_in: "2.0.0" });
};

describe("agtp-catalog-diff", () => {
  it("shows what changed, group by group, and the verdict on the version", async () => {
    const { exitCode, out, err } = await makeDiffProgram({ older, newer }).run(
      "old.json",
      "new.json",
    );
    expect([exitCode, err]).toEqual([0, ""]);
    expect(out).toBe(
      [
        "old.json (1.0.0, 27 methods) -> new.json (1.1.0, 27 methods)",
        "semver: the publisher's error (raised: minor, needed: major)",
        "  error: a MINOR version, 1.0.0 -> 1.1.0, removes BOOK; expected 2.0.0 or later",
        "",
        "Added (1)",
        "  + AUDITLOG  Keeps \ufffd[31m a log.",
        "",
        "Removed (1)",
        "  - BOOK  use RESERVE",
        "",
        "Newly deprecated (1)",
        "  ! SELL  in 1.1.0, to be removed in 2.0.0, no successor is named",
        "",
        "Described in other words (1)",
        "  ~ SELL  Sells.",
        "",
      ].join("\n"),
    );
  });

  it("shows what breaks, with file, line, reason and remedy", async () => {
    const program = makeDiffProgram({
      older,
      newer,
      site: {
        "endpoints/a.toml": `[endpoint]\nmethod = "BOOK"\npath = "/auditlog"\n`,
        "endpoints/b.toml": endpointFile({ method: "SELL", path: "/x" }),
      },
    });
    const args = ["old.json", "new.json", "--against-deployment", "site"];
    const { exitCode, out } = await program.run(...args);
    expect(exitCode).toBe(1);
    expect(out).toContain(
      [
        "Deployment site",
        "",
        "Path-grammar conflicts (1)",
        "  x endpoints/a.toml:3  endpoint.path",
        '      segment "auditlog" is the method AUDITLOG from 1.1.0 on, and no path may have one [not-served]',
        "      -> rename the segment: a plural is rarely a method",
        "",
        "Endpoint conflicts (1)",
        "  x endpoints/a.toml:2  endpoint.method",
        "      BOOK is not in the catalog of 1.1.0: the endpoint is not served [not-served]",
        "      -> use RESERVE",
        "",
        "Deprecated, and still served (1)",
      ].join("\n"),
    );
    expect(out.endsWith("\n2 places break\n")).toBe(true);
  });

  // docs/catalog-diff.md
  it("has every member of its JSON form, whatever was found", async () => {
    const { run, report } = makeDiffProgram({ older, newer });
    const { json } = await report();
    const members = ["ok", "old", "new", "semver", "added", "removed", "newly_deprecated"];
    members.push("undeprecated", "deprecation_changed", "recategorised", "redescribed", "legacy");
    members.push("legacy_descriptions", "categories", "problems", "deployment");
    expect(Object.keys(json)).toEqual(members);
    expect(json).toMatchObject({
      ok: true,
      old: { file: "old.json", version: "1.0.0", methods: 27 },
      semver: { ok: false, raised: "minor", needed: "major" },
      removed: [{ method: "BOOK", successor: "RESERVE", deprecated_in: "1.0.0", removed_in: null }],
      newly_deprecated: [{ method: "SELL", removed_in: "2.0.0", successor: null }],
      deployment: { directory: "site", breaks: 0, fix: null },
    });
    expect(JSON.parse((await run("old.json", "new.json", "--json")).out)).toMatchObject({
      deployment: null,
    });
  });

  it.each([
    [[], "missing required argument 'old'"],
    [["old.json"], "missing required argument 'new'"],
    [["old.json", "new.json", "third.json"], "too many arguments"],
    [["old.json", "new.json", "--frobnicate"], "unknown option"],
    [["old.json", "new.json", "--against-deployment"], "argument missing"],
    [["old.json", "new.json", "--dry-run"], "need --against-deployment"],
    [["nowhere.json", "new.json"], "nowhere.json: does not exist"],
    [["old.json", "site"], "site: must be a file, is a directory"],
    [["text.json", "new.json"], "text.json: is not JSON"],
    [["list.json", "new.json"], "list.json: is an array, expected an object"],
    [["deep.json", "new.json"], "deep.json: is an array, expected an object"],
    [["old.json", "bad.json"], "bad.json: embedded: QUERY missing"],
    [["old.json", "odd.json"], 'odd.json: version: is "1.0.0-01", which is no semantic'],
    [["old.json", "huge.json"], "huge.json: must be at most 4194304 bytes long"],
  ])("exits 2 with clear words for %j", async (args, message) => {
    const { directory, run } = makeDiffProgram({
      files: {
        "text.json": "{ nope",
        "list.json": "[]",
        "deep.json": `${"[".repeat(200_000)}${"]".repeat(200_000)}`,
        "huge.json": " ".repeat(5_000_000),
        "bad.json": catalogJson((catalog) => {
          catalog.embedded = catalog.embedded.filter((name) => name !== "QUERY");
        }),
        "odd.json": catalogJson((catalog) => {
          catalog.version = "1.0.0-01";
        }),
      },
    });
    const { exitCode, err } = await run(...args);
    expect(exitCode).toBe(2);
    expect(err).toContain(message);
    expect(err).not.toContain(directory);
  });

  it("does not say that nothing breaks where there is no deployment", async () => {
    const { run } = makeDiffProgram();
    const args = ["old.json", "new.json", "--against-deployment", "nowhere"];
    const { exitCode, out, err } = await run(...args);
    expect([exitCode, out]).toEqual([2, expect.stringMatching(/\nnothing could be read\n$/)]);
    expect(err).toContain("nowhere: does not exist");
  });

  it("has the problems of a catalog in its JSON form as well", async () => {
    const { exitCode, out } = await makeDiffProgram().run("old.json", "nowhere.json", "--json");
    expect(exitCode).toBe(2);
    expect(JSON.parse(out)).toEqual({
      ok: false,
      problems: [{ file: "nowhere.json", key: "", message: "does not exist" }],
    });
  });

  it("shows help and version", async () => {
    const { run } = makeDiffProgram();
    expect(await run("--help")).toMatchObject({ exitCode: 0, err: "" });
    expect((await run("--help")).out).toContain("Exit codes: 0");
    expect((await run("--version")).out).toMatch(/^\d+\.\d+\.\d+\n$/);
  });

  it("warns of what a catalog has too much, and goes on", async () => {
    const { run } = makeDiffProgram({
      newer: (catalog) => Object.assign(catalog, { colour: "blue" }),
    });
    const { exitCode, err } = await run("old.json", "new.json");
    expect(exitCode).toBe(0);
    expect(err).toContain("warning: new.json: colour: unknown key, ignored");
  });

  it("stays quick with as many changes as there can be", async () => {
    const letters = (index: number): string =>
      [...String(index).padStart(5, "0")].map((digit) => "ABCDEFGHIJ"[Number(digit)]).join("");
    const fill =
      (prefix: string) =>
      ({ verbs }: CatalogJson): void => {
        for (let index = 0; index < 4000; index += 1) {
          verbs[`${prefix}${letters(index)}`] = makeVerb("x".repeat(500));
        }
      };
    const { report } = makeDiffProgram({
      older: fill("XA"),
      newer: (catalog) => {
        for (const name of Object.keys(catalog.verbs)) {
          if (name.startsWith("XA")) delete catalog.verbs[name];
        }
        fill("YB")(catalog);
      },
      site: Object.fromEntries(
        Array.from({ length: 200 }, (_, index) => [
          `endpoints/e${index}.toml`,
          endpointFile({ method: `XA${letters(index)}`, path: `/yb${letters(index)}` }),
        ]),
      ),
    });
    const start = cpuMs();
    const { exitCode, deployment } = await report();
    expect(cpuMs() - start).toBeLessThan(10_000);
    expect(exitCode).toBe(1);
    expect(deployment.endpoint_conflicts).toHaveLength(200);
    expect(deployment.path_grammar_conflicts).toHaveLength(200);
  });
});
