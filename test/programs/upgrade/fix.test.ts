import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { replaceText } from "../../../src/programs/upgrade/fix-plan.ts";
import { type CatalogJson, makeVerb } from "../../support/catalog-versions.ts";
import { configFile, endpointFile } from "../../support/deployment.ts";
import { type DiffFiles, makeDiffProgram } from "../../support/diff-program.ts";
import { makeDirectory } from "../../support/directory.ts";

/** BOOK gives way to RESERVE, PROBE to the floor's QUERY, and SELL to nothing. */
const older = ({ verbs }: CatalogJson): void => {
  verbs["BOOK"] = makeVerb("Books.", { deprecated_in: "1.0.0", successor: "RESERVE" });
  verbs["PROBE"] = makeVerb("Probes.", { deprecated_in: "1.0.0", successor: "QUERY" });
};
const newer = (catalog: CatalogJson): void => {
  catalog.version = "2.0.0";
  for (const name of ["BOOK", "PROBE", "SELL"]) delete catalog.verbs[name];
};

const program = (site: DiffFiles["site"], environment = {}) =>
  makeDiffProgram({ older, newer, site: site ?? {}, environment });
const policy = (methods: object) => ({ "agtp-server.toml": configFile({ policies: { methods } }) });
const approvals = (...rules: readonly object[]) => ({
  "agtp-server.toml": configFile({ policies: { approvals: rules } }),
});

const ENDPOINT = `# BOOK is what this was called: "BOOK"\r
  [endpoint]   # odd\r
"method"\t=  'BOOK'\t# BOOK\r
path = "/book-ings"\r
description = "BOOK a room; caf\u00e9 \u{1f600}"`;

// AGTP-API §4.7
describe("--fix", () => {
  it("writes the successor into aliases and redirects that nothing stands in the way of", async () => {
    const redirect = { from_method: "BOOK", from_path: "/x", to_method: "FETCH", to_path: "/y" };
    const { directory, report } = program(
      policy({ aliases: { HIRE: "BOOK" }, redirects: [redirect] }),
    );
    const config = readFileSync(join(directory, "site/agtp-server.toml"), "utf8");
    const { exitCode, deployment } = await report("--fix");
    expect(exitCode).toBe(0);
    expect(deployment.fix?.written).toEqual(["agtp-server.toml"]);
    expect(readFileSync(join(directory, "site/agtp-server.toml"), "utf8")).toBe(
      config.replaceAll('"BOOK"', '"RESERVE"'),
    );
  });

  it("writes the successor, and leaves every other byte as it was", async () => {
    const { directory, report } = program({
      "endpoints/a.toml": ENDPOINT,
      "endpoints/bom.toml": Buffer.concat([
        Buffer.from([0xef, 0xbb, 0xbf]),
        Buffer.from('[endpoint]\nmethod = """BOOK"""\npath = "/x"'),
      ]),
      "recipes/r.toml":
        'recipe = [{ steps = [{ path = "/x", method = \'BOOK\' }, { method = "BOOK" }] }]',
      ...policy({ allow: ["QUERY", "BOOK", "RESERVE"] }),
    });
    const before = statSync(join(directory, "site/endpoints/a.toml"));
    const config = readFileSync(join(directory, "site/agtp-server.toml"), "utf8");
    const { exitCode, deployment } = await report("--fix");
    expect(exitCode).toBe(0);
    expect(deployment.fix?.written.toSorted()).toEqual([
      "agtp-server.toml",
      "endpoints/a.toml",
      "endpoints/bom.toml",
      "recipes/r.toml",
    ]);
    const read = (file: string) => readFileSync(join(directory, "site", file), "utf8");
    expect(read("endpoints/a.toml")).toBe(ENDPOINT.replace("'BOOK'", "'RESERVE'"));
    expect(read("endpoints/bom.toml")).toBe(
      '\ufeff[endpoint]\nmethod = """RESERVE"""\npath = "/x"',
    );
    expect(read("recipes/r.toml")).toContain("method = 'RESERVE' }, { method = \"RESERVE\" }");
    expect(read("agtp-server.toml")).toBe(config.replace('"BOOK"', '"RESERVE"'));
    expect(readdirSync(join(directory, "site/endpoints"))).toEqual(["a.toml", "bom.toml"]);
    expect(statSync(join(directory, "site/endpoints/a.toml")).mode).toBe(before.mode);
  });

  it("shows the change first, as patch would take it, and looks again", async () => {
    const { run } = program({ "endpoints/a.toml": endpointFile({ method: "BOOK", path: "/x" }) });
    const { exitCode, out, err } = await run(
      ...["old.json", "new.json", "--against-deployment", "site", "--fix"],
    );
    expect(exitCode).toBe(0);
    const hunk = /@@ -(\d+) \+\1 @@\n-method = "BOOK"\n\+method = "RESERVE"\n/;
    const [found, shown, again] = [
      out.indexOf("1 place breaks"),
      out.search(new RegExp(`--- endpoints/a.toml\n\\+\\+\\+ endpoints/a.toml\n${hunk.source}`)),
      out.indexOf("nothing breaks"),
    ];
    expect(found).toBeGreaterThan(0);
    expect(shown).toBeGreaterThan(found);
    expect(again).toBeGreaterThan(shown);
    expect(err).toBe("1 file written\n");
  });

  it("only shows it in a dry run, and the answer stays no", async () => {
    const { directory, report, read } = program({ "endpoints/a.toml": ENDPOINT });
    const { mtimeMs } = statSync(join(directory, "site/endpoints/a.toml"));
    for (const flags of [["--fix", "--dry-run"], ["--dry-run"]]) {
      const { exitCode, deployment, err } = await report(...flags);
      expect(exitCode).toBe(1);
      expect(deployment.fix).toMatchObject({
        dry_run: true,
        written: [],
        changes: [{ file: "endpoints/a.toml", line: 3, old: "BOOK", new: "RESERVE" }],
      });
      expect(err).toContain("+\"method\"\t=  'RESERVE'\t# BOOK");
    }
    expect(read("site/endpoints/a.toml")).toBe(ENDPOINT);
    expect(statSync(join(directory, "site/endpoints/a.toml")).mtimeMs).toBe(mtimeMs);
  });

  it("keeps the mode of a file, and writes to where a link inside the deployment leads", async () => {
    const { directory, report } = program({
      "pool/a.toml": endpointFile({ method: "BOOK", path: "/x" }),
    });
    const at = (file: string) => join(directory, "site", file);
    chmodSync(at("pool/a.toml"), 0o640);
    mkdirSync(at("endpoints"));
    symlinkSync("../pool/a.toml", at("endpoints/a.toml"));
    expect((await report("--fix")).exitCode).toBe(0);
    expect(lstatSync(at("endpoints/a.toml")).isSymbolicLink()).toBe(true);
    expect(statSync(at("pool/a.toml")).mode & 0o777).toBe(0o640);
    expect(readFileSync(at("pool/a.toml"), "utf8")).toContain("RESERVE");
  });

  it("writes nothing outside of the deployment", async () => {
    const { directory, report, read } = program({
      "agtp-server.toml": configFile({
        endpoints: { dir: "../elsewhere" },
        policies: { methods: { allow: ["BOOK"] } },
      }),
    });
    mkdirSync(join(directory, "elsewhere"));
    const text = endpointFile({ method: "BOOK", path: "/x" });
    writeFileSync(join(directory, "elsewhere/a.toml"), text);
    renameSync(join(directory, "site/agtp-server.toml"), join(directory, "away.toml"));
    symlinkSync("../away.toml", join(directory, "site/agtp-server.toml"));
    const { exitCode, deployment } = await report("--fix");
    expect(exitCode).toBe(2);
    const reason = "lies outside of the deployment directory";
    expect(deployment.fix?.failed.map((one) => one["reason"])).toEqual([reason, reason]);
    expect(read("elsewhere/a.toml")).toBe(text);
    expect(read("away.toml")).toContain("BOOK");
  });
});

describe("--fix leaves to a person", () => {
  const endpoint = (method: string, path: string, more = {}) =>
    endpointFile({ method, path, ...more });

  it.each<[string, NonNullable<DiffFiles["site"]>, string]>([
    [
      "a method without a successor",
      { "endpoints/a.toml": endpoint("SELL", "/x") },
      "no successor is named: choose another method, or keep it in policies.methods.custom",
    ],
    [
      "a pair that is taken",
      { "endpoints/a.toml": endpoint("BOOK", "/x"), "endpoints/b.toml": endpoint("RESERVE", "/x") },
      "endpoints/b.toml has RESERVE /x already, so this one can be removed",
    ],
    [
      "the pair of a template that takes the same paths",
      {
        "endpoints/a.toml": endpoint("BOOK", "/x/{a}"),
        "endpoints/b.toml": endpoint("RESERVE", "/x/{b}"),
      },
      "endpoints/b.toml has RESERVE /x/{b} already, so this one can be removed",
    ],
    [
      "a pair of the protocol",
      { "endpoints/a.toml": endpoint("PROBE", "/") },
      '"/" under QUERY belongs to the protocol',
    ],
    [
      "an endpoint that would succeed itself",
      {
        "endpoints/a.toml": endpoint("BOOK", "/x", {
          deprecated: { deprecated_in: "1", successor: { method: "RESERVE" } },
        }),
      },
      "[endpoint.deprecated] would name the endpoint itself",
    ],
    [
      "what is written with escapes",
      { "endpoints/a.toml": `[endpoint]\nmethod = "B\\u004FOK"\npath = "/x"` },
      "it is not written on one line as it is read, so it is left to a person",
    ],
    [
      "what is written over several lines",
      { "endpoints/a.toml": `[endpoint]\nmethod = """\nBOOK"""\npath = "/x"` },
      "it is not written on one line as it is read, so it is left to a person",
    ],
    [
      "a method that would be disallowed although it is served",
      {
        ...policy({ disallow: ["BOOK"] }),
        "endpoints/b.toml": endpoint("RESERVE", "/y"),
      },
      "RESERVE /y of endpoints/b.toml would not be served any more",
    ],
    [
      "a floor method",
      policy({ disallow: ["PROBE"] }),
      "QUERY is a floor method, which would not be served any more",
    ],
    [
      "a rule of approvals that would be about what is served",
      {
        ...approvals({ method: "BOOK", approval: "none" }),
        "endpoints/b.toml": endpoint("RESERVE", "/y"),
      },
      "RESERVE /y of endpoints/b.toml would come under the rule",
    ],
    [
      "a rule of approvals beside one for the successor",
      approvals({ method: "RESERVE" }, { method: "BOOK", approval: "none" }),
      "another rule is for RESERVE already",
    ],
    [
      "an alias of an alias",
      policy({ aliases: { HIRE: "BOOK", RESERVE: "FETCH" } }),
      "RESERVE is an alias itself, and aliases are single-hop",
    ],
    [
      "a redirect to itself",
      policy({
        redirects: [{ from_method: "BOOK", to_method: "RESERVE", to_path: "/x", from_path: "/x" }],
      }),
      "it would redirect to itself, so the entry can be removed",
    ],
    [
      "a redirect of what is served",
      {
        ...policy({ redirects: [{ from_method: "BOOK", to_method: "FETCH" }] }),
        "endpoints/b.toml": endpoint("RESERVE", "/y"),
      },
      "requests for RESERVE /y of endpoints/b.toml would be redirected",
    ],
    [
      "a redirect of the floor",
      policy({ redirects: [{ from_method: "PROBE", to_method: "FETCH" }] }),
      "requests for the floor method QUERY would be redirected",
    ],
    [
      "a second redirect for one method",
      policy({
        redirects: [
          { from_method: "BOOK", to_method: "FETCH" },
          { from_method: "RESERVE", to_method: "SEARCH" },
        ],
      }),
      "another redirect is for RESERVE already",
    ],
  ])("%s", async (_, site, reason) => {
    const { directory, report } = program(site);
    const files = () =>
      Object.keys(site).map((file) => readFileSync(join(directory, "site", file), "utf8"));
    const before = files();
    const { exitCode, deployment } = await report("--fix");
    expect(deployment.fix).toMatchObject({ changes: [], refused: [{ reason }], written: [] });
    expect(exitCode).toBe(1);
    expect(files()).toEqual(before);
  });

  it("the step whose endpoint stays, unless another one serves it", async () => {
    const step = `[[recipe]]\n[[recipe.steps]]\nmethod = "BOOK"\npath = "/x/{c}"\n`;
    const own = { deprecated: { deprecated_in: "1", successor: { method: "RESERVE" } } };
    const stuck = program({
      "endpoints/a.toml": endpoint("BOOK", "/x/{a}", own),
      "recipes/r.toml": step,
    });
    expect((await stuck.report("--fix")).deployment.fix).toMatchObject({
      changes: [],
      refused: [{ file: "endpoints/a.toml" }, { file: "recipes/r.toml", method: "BOOK" }],
    });
    const served = program({
      "endpoints/a.toml": endpoint("BOOK", "/x/{a}"),
      "endpoints/b.toml": endpoint("RESERVE", "/x/{b}"),
      "recipes/r.toml": step,
    });
    expect((await served.report("--fix")).deployment.fix).toMatchObject({
      changes: [{ file: "recipes/r.toml" }],
      refused: [{ file: "endpoints/a.toml" }],
    });
  });

  it("what comes out of the environment", async () => {
    const site = policy({ allow: ["$" + "{METHOD}"] });
    const { report } = program(site, { METHOD: "BOOK" });
    expect((await report("--fix")).deployment.fix?.refused).toMatchObject([
      { reason: "it comes out of the environment" },
    ]);
  });

  it("the second of two endpoints that would become one", async () => {
    const { report } = makeDiffProgram({
      older: (catalog) => {
        older(catalog);
        catalog.verbs["SELL"] = makeVerb("Sells.", {
          successor: "RESERVE",
          deprecated_in: "1.0.0",
        });
      },
      newer,
      site: {
        "endpoints/a.toml": endpoint("BOOK", "/x"),
        "endpoints/b.toml": endpoint("SELL", "/x"),
      },
    });
    const { exitCode, deployment } = await report("--fix");
    expect(exitCode).toBe(1);
    expect(deployment.fix).toMatchObject({
      written: ["endpoints/a.toml"],
      refused: [{ file: "endpoints/b.toml" }],
    });
    expect(deployment.endpoint_conflicts).toMatchObject([{ file: "endpoints/b.toml" }]);
  });

  it("is of no use without a deployment", async () => {
    const { exitCode, err } = await program({}).run("old.json", "new.json", "--fix");
    expect(exitCode).toBe(2);
    expect(err).toContain("need --against-deployment");
  });
});

describe("replaceText", () => {
  const replace = (directory: string, file: string, before = "before") =>
    replaceText({ directory, file, before, after: "after" });

  it("leaves a file alone that changed since it was read, or is gone", () => {
    const directory = makeDirectory({ "a.toml": "other" });
    expect(replace(directory, "a.toml")).toBe("changed while it was looked at");
    expect(replace(directory, "b.toml")).toContain("cannot be written");
    expect(readdirSync(directory)).toEqual(["a.toml"]);
  });

  it("replaces the file, not what other names lead to", () => {
    const directory = makeDirectory({ "a.toml": "before" });
    linkSync(join(directory, "a.toml"), join(directory, "kept.toml"));
    expect(replace(directory, "a.toml")).toBeUndefined();
    expect(readFileSync(join(directory, "a.toml"), "utf8")).toBe("after");
    expect(readFileSync(join(directory, "kept.toml"), "utf8")).toBe("before");
  });
});
