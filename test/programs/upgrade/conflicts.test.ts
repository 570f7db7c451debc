// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are placeholders of the files
import { symlinkSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { agentManifest, MAIL_SPECS } from "../../support/agntcy.ts";
import { type CatalogJson, makeVerb } from "../../support/catalog-versions.ts";
import { configFile, endpointFile } from "../../support/deployment.ts";
import { type DiffFiles, type FindingJson, makeDiffProgram } from "../../support/diff-program.ts";

/** BOOK goes and RESERVE follows it, SELL goes and nothing does, AUDITLOG comes. */
const older = ({ verbs }: CatalogJson): void => {
  verbs["BOOK"] = makeVerb("Books.", {
    deprecated_in: "1.0.0",
    removed_in: "2.0.0",
    successor: "RESERVE",
  });
};
const newer = (catalog: CatalogJson): void => {
  catalog.version = "2.0.0";
  delete catalog.verbs["BOOK"];
  delete catalog.verbs["SELL"];
  catalog.verbs["AUDITLOG"] = makeVerb();
  catalog.verbs["SEARCH"] = makeVerb("Finds.", {
    deprecated_in: "2.0.0",
    removed_in: "3.0.0",
    successor: "QUERY",
  });
};

const GROUPS = [
  "path_grammar_conflicts",
  "endpoint_conflicts",
  "recipe_conflicts",
  "policy_conflicts",
] as const;

async function conflictsOf(site: NonNullable<DiffFiles["site"]>, environment = {}) {
  const program = makeDiffProgram({ older, newer, site, environment });
  const { exitCode, deployment, err } = await program.report();
  const found = GROUPS.flatMap((group) =>
    deployment[group].map((conflict): FindingJson => ({ group, ...conflict })),
  );
  return { exitCode, found, deployment, err };
}

const room = { method: "QUERY", path: "/room" };
const policy = (methods: object) => ({ "agtp-server.toml": configFile({ policies: { methods } }) });
const approvals = (...rules: readonly object[]) => ({
  "agtp-server.toml": configFile({ policies: { approvals: rules } }),
});
const recipe = (text: string) => ({
  "recipes/r.toml": `[[recipe]]\nname = "r"\nversion = "1"\n${text}`,
});

// AGTP-API §4.5, §4.7, §9.4
describe("a deployment that an upgrade breaks", () => {
  it.each<[string, NonNullable<DiffFiles["site"]>, FindingJson]>([
    [
      "an endpoint that declares a removed method",
      { "endpoints/deep/book.toml": `# first\n\n[endpoint]\nmethod = "BOOK"\npath = "/room"\n` },
      {
        group: "endpoint_conflicts",
        file: "endpoints/deep/book.toml",
        line: 4,
        column: 1,
        key: "endpoint.method",
        value: "BOOK",
        method: "BOOK",
        effect: "not-served",
        successor: "RESERVE",
        remedy: "use RESERVE",
      },
    ],
    [
      "an endpoint whose successor is a removed method",
      {
        "endpoints/a.toml": endpointFile({
          ...room,
          deprecated: { deprecated_in: "1", successor: { method: "BOOK", path: "/rooms" } },
        }),
      },
      { group: "endpoint_conflicts", key: "endpoint.deprecated.successor.method", line: 33 },
    ],
    [
      "an endpoint without a way out",
      { "endpoints/a.toml": endpointFile({ method: "SELL", path: "/room" }) },
      { group: "endpoint_conflicts", method: "SELL", successor: null },
    ],
    [
      "a path with the name of an added method",
      { "endpoints/a.toml": endpointFile({ method: "QUERY", path: "/rooms/audit-log/{id}" }) },
      {
        group: "path_grammar_conflicts",
        key: "endpoint.path",
        value: "/rooms/audit-log/{id}",
        method: "AUDITLOG",
        effect: "not-served",
      },
    ],
    [
      "the path of a successor with one",
      {
        "endpoints/a.toml": endpointFile({
          ...room,
          deprecated: { deprecated_in: "1", successor: { path: "/auditlog" } },
        }),
      },
      { group: "path_grammar_conflicts", key: "endpoint.deprecated.successor.path" },
    ],
    [
      "a value of a path that is one",
      {
        "endpoints/a.toml": endpointFile({
          method: "QUERY",
          path: "/rooms/{kind}",
          properties: { kind: { type: "string", enum: ["suite", "auditlog"] } },
        }),
      },
      {
        group: "path_grammar_conflicts",
        key: "endpoint.input_schema.properties.kind.enum[1]",
        effect: "refused-requests",
      },
    ],
    [
      "such a value in a branch",
      {
        "endpoints/a.toml": endpointFile({
          method: "QUERY",
          path: "/rooms/{kind}",
          properties: { kind: { oneOf: [{ const: "suite" }, { const: "audit-log" }] } },
        }),
      },
      {
        group: "path_grammar_conflicts",
        key: "endpoint.input_schema.properties.kind.oneOf[1].const",
        line: expect.any(Number),
      },
    ],
    [
      "such a value of a definition that refers to itself",
      {
        "endpoints/a.toml": `[endpoint]\nmethod = "QUERY"\npath = "/rooms/{kind}"\n[endpoint.input_schema]\nallOf = [{ properties = { kind = { "$ref" = "#/$defs/Kind" } } }]\n[endpoint.input_schema."$defs".Kind]\nanyOf = [{ "$ref" = "#/$defs/Kind" }, { enum = ["auditlog"] }]\n`,
      },
      {
        group: "path_grammar_conflicts",
        key: 'endpoint.input_schema."$defs".Kind.anyOf[1].enum[0]',
        line: 7,
      },
    ],
    [
      "such a value of a field list",
      {
        "endpoints/a.toml": `[endpoint]\nmethod = "QUERY"\npath = "/rooms/{kind}"\n[[endpoint.input.required]]\nname = "kind"\nenum = ["auditlog"]\n`,
      },
      {
        group: "path_grammar_conflicts",
        key: "endpoint.input.required[0].enum[0]",
        line: 6,
        column: 9,
      },
    ],
    [
      "a step of a recipe",
      recipe(
        `[[recipe.steps]]\nmethod = "QUERY"\n[[recipe.steps]]\nmethod = "BOOK"\npath = "/room"\n`,
      ),
      {
        group: "recipe_conflicts",
        file: "recipes/r.toml",
        line: 7,
        key: "recipe[0].steps[1].method",
        successor: "RESERVE",
      },
    ],
    [
      "a step written inline",
      recipe(`steps = [{ method = "QUERY" },\n  { method = "BOOK" }]\n`),
      { group: "recipe_conflicts", line: 5, column: 5, key: "recipe[0].steps[1].method" },
    ],
    [
      "what a recipe answers for",
      recipe(`[recipe.pattern]\nmethod_exact = "SELL"\n[[recipe.steps]]\nmethod = "QUERY"\n`),
      { group: "recipe_conflicts", key: "recipe[0].pattern.method_exact", line: 5 },
    ],
    [
      "the same under its older name",
      recipe(`[recipe.pattern]\nname_exact = "SELL"\n[[recipe.steps]]\nmethod = "QUERY"\n`),
      { group: "recipe_conflicts", key: "recipe[0].pattern.name_exact" },
    ],
    [
      "the path of a step",
      recipe(`[[recipe.steps]]\nmethod = "QUERY"\npath = "/auditLog"\n`),
      { group: "path_grammar_conflicts", key: "recipe[0].steps[0].path" },
    ],
    [
      "a segment of a pattern of paths",
      recipe(
        `[recipe.pattern]\nmethod_exact = "QUERY"\npath_regex = "^/reports(/(?:audit_log|list))?/x(audit)?$"\n[[recipe.steps]]\nmethod = "QUERY"\n`,
      ),
      { group: "path_grammar_conflicts", key: "recipe[0].pattern.path_regex" },
    ],
    [
      "the path of a pattern",
      recipe(
        `[recipe.pattern]\nmethod_exact = "QUERY"\npath_exact = "/audit_log"\n[[recipe.steps]]\nmethod = "QUERY"\n`,
      ),
      { group: "path_grammar_conflicts", key: "recipe[0].pattern.path_exact" },
    ],
    [
      "an allowed method",
      policy({ allow: ["QUERY", "BOOK"] }),
      {
        group: "policy_conflicts",
        file: "agtp-server.toml",
        key: "policies.methods.allow[1]",
        line: 6,
        column: 20,
        effect: "skipped",
      },
    ],
    [
      "a disallowed method",
      policy({ disallow: ["SELL"] }),
      { group: "policy_conflicts", key: "policies.methods.disallow[0]", effect: "skipped" },
    ],
    [
      "a redirect from a removed method",
      policy({ redirects: [{ from_method: "BOOK", to_method: "QUERY" }] }),
      { group: "policy_conflicts", key: "policies.methods.redirects[0].from_method" },
    ],
    [
      "a redirect to one",
      policy({ redirects: [{ from_method: "QUERY", to_method: "BOOK" }] }),
      { group: "policy_conflicts", key: "policies.methods.redirects[0].to_method" },
    ],
    [
      "a path of a redirect",
      policy({ redirects: [{ from_method: "QUERY", to_method: "FETCH", to_path: "/auditlog" }] }),
      {
        group: "path_grammar_conflicts",
        key: "policies.methods.redirects[0].to_path",
        effect: "stops-start",
      },
    ],
    [
      "an alias of a removed method",
      policy({ aliases: { HIRE: "BOOK" } }),
      {
        group: "policy_conflicts",
        key: "policies.methods.aliases.HIRE",
        effect: "stops-start",
        successor: "RESERVE",
      },
    ],
    [
      "an alias that hides an added method",
      policy({ aliases: { AUDITLOG: "QUERY" } }),
      {
        group: "policy_conflicts",
        key: "policies.methods.aliases.AUDITLOG",
        effect: "changes-meaning",
      },
    ],
    [
      "a custom method that is the catalog's now",
      policy({ custom: ["AUDITLOG"] }),
      {
        group: "policy_conflicts",
        key: "policies.methods.custom[0]",
        method: "AUDITLOG",
        effect: "changes-meaning",
      },
    ],
    [
      "a method that needs a token",
      {
        "agtp-server.toml": configFile({
          policies: { oauth: { issuer: "https://i.example", required_on_methods: ["BOOK"] } },
        }),
      },
      { group: "policy_conflicts", key: "policies.oauth.required_on_methods[0]" },
    ],
    [
      "the method of a rule of approvals",
      approvals({ method: "BOOK", path: "/room" }),
      {
        group: "policy_conflicts",
        key: "policies.approvals[0].method",
        effect: "stops-start",
        remedy: "use RESERVE",
      },
    ],
    [
      "the path of a rule of approvals",
      approvals({ path: "/rooms/audit-log" }),
      {
        group: "path_grammar_conflicts",
        key: "policies.approvals[0].path",
        method: "AUDITLOG",
        effect: "stops-start",
      },
    ],
    [
      "a hosted protocol",
      {
        "agtp-server.toml": configFile({
          hosted_protocols: [{ protocol: "mcp", method: "BOOK", path: "/mcp" }] as object,
        }),
      },
      { group: "policy_conflicts", key: "hosted_protocols[0].method", effect: "skipped" },
    ],
    [
      "the path of an agent",
      {
        "agtp-server.toml": configFile({
          agntcy: [{ manifest: "agents/agntcy/a.json", base: "/auditlog" }] as object,
        }),
      },
      { group: "path_grammar_conflicts", key: "agntcy[0].base" },
    ],
  ])("has %s", async (_, site, expected) => {
    const { exitCode, found, err } = await conflictsOf(site);
    expect(found).toMatchObject([expected]);
    expect([exitCode, err]).toEqual([1, ""]);
  });

  it("has agents of packs that lose a tool, also where its endpoint is fixed", async () => {
    const toolAllowlist = ["mcp:weather", "agtp:BOOK /elsewhere", "agtp:BOOK /room/{id}"];
    const site = {
      "agents/openwop/desk/pack.json": JSON.stringify({ agents: [{}, { toolAllowlist }] }),
      "endpoints/book.toml": endpointFile({ method: "BOOK", path: "/room/{id}" }),
    };
    const program = makeDiffProgram({ older, newer, site });
    const { exitCode, deployment } = await program.report("--fix");
    expect(deployment.endpoint_conflicts).toEqual([]);
    expect(deployment.policy_conflicts).toMatchObject([
      {
        ...{ file: "agents/openwop/desk/pack.json", key: "agents[1].toolAllowlist[2]" },
        ...{ value: "BOOK", effect: "skipped", successor: "RESERVE" },
      },
    ]);
    expect(exitCode).toBe(1);
  });

  it("finds what the environment brings in", async () => {
    const site = policy({ allow: ["${METHOD}"] });
    const { found } = await conflictsOf(site, { METHOD: "BOOK" });
    expect(found).toMatchObject([{ value: "BOOK", key: "policies.methods.allow[0]" }]);
  });

  it("finds what the deployment's own .env brings in", async () => {
    const site = { ...policy({ allow: ["${METHOD}"] }), ".env": "METHOD=BOOK\n" };
    const { exitCode, found } = await conflictsOf(site);
    expect(found).toMatchObject([{ value: "BOOK", key: "policies.methods.allow[0]" }]);
    expect(exitCode).toBe(1);
  });

  it("looks where the configuration says", async () => {
    const { found } = await conflictsOf({
      "agtp-server.toml": configFile({ endpoints: { dir: "pairs" }, recipes: { dir: "mixes" } }),
      "pairs/a.toml": endpointFile({ method: "BOOK", path: "/room" }),
      "endpoints/b.toml": endpointFile({ method: "BOOK", path: "/room" }),
      "mixes/r.toml": `[[recipe]]\n[[recipe.steps]]\nmethod = "BOOK"\n`,
    });
    expect(found.map(({ file }) => file)).toEqual(["pairs/a.toml", "mixes/r.toml"]);
  });

  // AGTP-API §3.6, §9.2
  it("is told when HTTP verbs are dispatched as something else", async () => {
    const program = makeDiffProgram({
      newer: (catalog) => {
        catalog.version = "2.0.0";
        catalog.legacy["GET"] = { preferred: "QUERY", description: "Reads." };
        delete catalog.legacy["PATCH"];
      },
      site: policy({ legacy: ["PATCH"] }),
    });
    const { deployment, exitCode } = await program.report();
    expect(exitCode).toBe(1);
    expect(deployment.policy_conflicts).toMatchObject([
      { key: "policies.methods.legacy[0]", method: "PATCH" },
      { key: "policies.methods.aliases", method: "GET", value: "FETCH", line: 5 },
      { key: "policies.methods.aliases", method: "PATCH", value: "MODIFY" },
    ]);
  });

  // The server does not start with an alias of a method that there is not.
  it.each([
    ["the successor", { successor: "RESERVE" }, 'PATCH = "RESERVE"'],
    ["no method", {}, "the method that PATCH is to be"],
  ])("is advised %s for an HTTP verb whose method is gone", async (_, more, shown) => {
    const program = makeDiffProgram({
      older: (catalog) => Object.assign(catalog.verbs["MODIFY"] ?? {}, more),
      newer: (catalog) => {
        catalog.version = "2.0.0";
        delete catalog.legacy["PATCH"];
        delete catalog.verbs["MODIFY"];
      },
      site: policy({}),
    });
    const { deployment } = await program.report();
    expect(deployment.policy_conflicts).toMatchObject([
      { method: "PATCH", value: "MODIFY", remedy: `write the table, with ${shown}` },
    ]);
  });

  // AGTP-API §3.6
  it.each([
    ['all of them as methods, which "*" takes from the catalog', "*", ["PATCH"]],
    ["one of them as a method, which needs no catalog", ["PATCH"], []],
  ])(
    "is told of HTTP verbs that are gone where it has aliases of its own and %s",
    async (_, legacy, gone) => {
      const program = makeDiffProgram({
        newer: (catalog) => {
          catalog.version = "2.0.0";
          delete catalog.legacy["PATCH"];
          delete catalog.legacy["GET"];
        },
        site: policy({ legacy, aliases: { GET: "QUERY" } }),
      });
      const { deployment, exitCode } = await program.report();
      expect(deployment.policy_conflicts.map(({ method }) => method)).toEqual(gone);
      if (gone.length > 0) {
        expect(deployment.policy_conflicts).toMatchObject([
          { key: "policies.methods.legacy", value: "PATCH", effect: "refused-requests", line: 6 },
        ]);
      }
      expect(exitCode).toBe(gone.length > 0 ? 1 : 0);
    },
  );

  it("has endpoints of the server itself, whose methods no file names", async () => {
    const runs = configFile({ openwop: {}, agntcy: [{ manifest: "agents/a.json", base: "/a" }] });
    const methods = ["CANCEL", "CREATE", "FORK", "RESUME"];
    const find = async (site: NonNullable<DiffFiles["site"]>) => {
      const program = makeDiffProgram({
        older: (catalog) => {
          const successor = { deprecated_in: "1.0.0", removed_in: "2.0.0", successor: "REVOKE" };
          for (const name of methods) catalog.verbs[name] = makeVerb(`Do ${name}.`, successor);
          // POST stands for CREATE otherwise.
          catalog.legacy = {};
        },
        newer: (catalog) => {
          catalog.version = "2.0.0";
          catalog.legacy = {};
          for (const name of methods) delete catalog.verbs[name];
        },
        site,
      });
      const { exitCode, deployment } = await program.report("--fix");
      const found = deployment.policy_conflicts;
      expect(deployment.fix?.refused.map(({ method }) => method)).toEqual(
        found.map(({ method }) => method),
      );
      return { exitCode, found, names: found.map(({ key, method }) => `${key}: ${method}`) };
    };
    const { exitCode, found, names } = await find({ "agtp-server.toml": runs });
    expect([exitCode, names]).toEqual([
      1,
      [
        ...["openwop: CANCEL", "openwop: FORK", "agntcy[0]: CANCEL"],
        "policies.methods.custom: RESUME",
      ],
    ]);
    expect(found[0]).toMatchObject({
      ...{ effect: "refused-requests", successor: null },
      message:
        "CANCEL is not in the catalog of 2.0.0: the server refuses its own endpoint with 459",
      remedy: "name CANCEL in policies.methods.custom",
    });
    expect(found[0]?.["line"]).toBeGreaterThan(0);
    expect((await find({})).names).toEqual(["policies.methods.custom: RESUME"]);
    const packs = await find({ "agents/openwop/clerk/pack.json": "{}" });
    expect(packs.names).toHaveLength(3);
    const threading = configFile({
      agntcy: [
        { manifest: "agents/a.json", base: "/a" },
        { manifest: "agents/${WHOSE:-threads}.json", base: "/b" },
        { manifest: "agents/gone.json", base: "/c" },
      ],
    });
    const { thread_state: _, ...others } = MAIL_SPECS;
    const capabilities = { ...MAIL_SPECS.capabilities, threads: false };
    const manifest = (specs: object) => JSON.stringify(agentManifest({ specs }));
    const threads = await find({
      "agtp-server.toml": threading,
      "agents/a.json": manifest({ ...others, capabilities }),
      "agents/threads.json": manifest(MAIL_SPECS),
    });
    expect(threads.names).toEqual([
      ...["agntcy[0]: CANCEL", "agntcy[1]: CREATE", "policies.methods.custom: RESUME"],
    ]);
    for (const policies of [
      { custom: methods },
      { disallow: methods },
      { allow: ["QUERY"], custom: [] },
    ]) {
      const config = configFile({ openwop: {}, policies: { methods: policies } });
      const of = (await find({ "agtp-server.toml": config })).names.filter((one) => {
        return !one.includes("disallow[");
      });
      expect([policies, of]).toEqual([policies, []]);
    }
  });

  it.each([
    ...["^/reports(/[^/]+)?$", "^/reports(?:/[^/]+)?$", "^/x/reports($|/)", "^\\\\/reports\\\\/x$"],
    ...["^/reports", "^/(x|reports)/y$", "^/reports/?$", "^(?:/reports)?/x$"],
    // These write no whole segment out.
    ...["^/reports?$", "^/reports(er)?$", "^/my-reports", "^/[reports]"],
  ])(
    "has the pattern of paths %j, where a segment of it is a method from then on",
    async (pattern) => {
      const program = makeDiffProgram({
        newer: ({ verbs }) => {
          verbs["REPORTS"] = makeVerb();
        },
        site: recipe(
          `[recipe.pattern]\nmethod_exact = "QUERY"\npath_regex = "${pattern}"\n[[recipe.steps]]\nmethod = "QUERY"\n`,
        ),
      });
      const isWhole = !/s\?|\(er|my-|\[rep/.test(pattern);
      const found = { method: "REPORTS", value: "reports", effect: "refused-requests" };
      const { deployment } = await program.report();
      expect(deployment.path_grammar_conflicts).toMatchObject(isWhole ? [found] : []);
      expect(deployment.path_grammar_conflicts).toHaveLength(isWhole ? 1 : 0);
    },
  );
});

describe("a deployment that an upgrade does not break", () => {
  it("has nothing of what was removed", async () => {
    const site = {
      ...policy({ allow: "*", disallow: ["PATCH"], legacy: ["GET"], custom: ["SALUTE"] }),
      "endpoints/a.toml": endpointFile({ method: "SALUTE", path: "/rooms" }),
      "recipes/r.toml": `[[recipe]]\n[[recipe.steps]]\nmethod = "RESERVE"\n`,
    };
    expect(await conflictsOf(site)).toMatchObject({ exitCode: 0, found: [], err: "" });
  });

  it("keeps a removed method as its own", async () => {
    const site = {
      ...policy({ custom: ["SELL"] }),
      "endpoints/a.toml": endpointFile({ method: "SELL", path: "/rooms" }),
    };
    expect(await conflictsOf(site)).toMatchObject({ exitCode: 0, found: [] });
  });

  it("had a custom method in no path before either", async () => {
    const site = {
      ...policy({ custom: ["AUDITLOG"] }),
      "endpoints/a.toml": endpointFile({ method: "QUERY", path: "/auditlog" }),
    };
    expect((await conflictsOf(site)).found.map(({ group }) => group)).toEqual(["policy_conflicts"]);
  });

  it("is told of what is deprecated, and of what was unknown before", async () => {
    const { exitCode, found, deployment } = await conflictsOf({
      "endpoints/a.toml": endpointFile({ method: "SEARCH", path: "/rooms" }),
      "endpoints/b.toml": endpointFile({ method: "FROBNICATE", path: "/rooms" }),
      "endpoints/c.toml": endpointFile({ method: "GET", path: "/rooms" }),
    });
    expect([exitCode, found]).toEqual([0, []]);
    expect(deployment.deprecated_uses).toMatchObject([
      { file: "endpoints/a.toml", method: "SEARCH", successor: "QUERY", removed_in: "3.0.0" },
    ]);
    expect(deployment.unknown_methods).toMatchObject([
      { file: "endpoints/b.toml", method: "FROBNICATE" },
      { file: "endpoints/c.toml", method: "GET" },
    ]);
  });
});

describe("what cannot be judged", () => {
  const broken = (files: DiffFiles["site"]) => makeDiffProgram({ older, newer, site: files ?? {} });

  it.each([
    ["endpoints/a.toml", "[endpoint", "is not TOML: line 1"],
    ["endpoints/a.toml", "", "endpoint: is missing, expected a table"],
    ["endpoints/a.toml", '[endpoint]\npath = "/a"', "endpoint.method: is missing"],
    ["endpoints/a.toml", '[endpoint]\nmethod = 7\npath = "/a"', "endpoint.method: is 7"],
    ["endpoints/a.toml", '[endpoint]\nmethod = "QUERY"\npath = []', "endpoint.path: is an array"],
    ["recipes/a.toml", "x = 1", "recipe: is missing"],
    ["recipes/a.toml", "[[recipe]]\nsteps = 1", "recipe[0].steps: is 1"],
    ["recipes/a.toml", "[[recipe]]\n[[recipe.steps]]", "recipe[0].steps[0].method: is missing"],
    ["agtp-server.toml", "=", "is not TOML"],
    ["agtp-server.toml", "policies = 1", "policies: is 1, expected a table"],
    ["agtp-server.toml", "[policies.methods]\nallow = 'BOOK'", 'allow: is "BOOK", expected a list'],
    ["agtp-server.toml", "[policies.methods]\ndisallow = [1]", "disallow[0]: is 1"],
    ["agtp-server.toml", "endpoints.dir = 1", "endpoints.dir: must be a string"],
    ["agtp-server.toml", 'endpoints.dir = "${UNSET}"', "UNSET is not set"],
    ["agtp-server.toml", 'endpoints.dir = "nowhere"', "nowhere: the directory does not exist"],
    ["agtp-server.toml", '[policies.methods]\nallow = ["${UNSET}"]', "UNSET is not set"],
  ])("is %s with %j", async (file, text, message) => {
    const program = broken({ [file]: text });
    const { exitCode, err, deployment } = await program.report();
    expect(exitCode).toBe(2);
    expect(err).toContain(message);
    expect(deployment.problems.length).toBeGreaterThan(0);
  });

  it("does not hide what can be", async () => {
    const { exitCode, deployment } = await broken({
      "endpoints/a.toml": "[",
      "endpoints/b.toml": endpointFile({ method: "BOOK", path: "/room" }),
    }).report();
    expect(exitCode).toBe(2);
    expect(deployment.endpoint_conflicts).toHaveLength(1);
  });

  it.each([
    ["nowhere", "does not exist"],
    ["old.json", "must be a directory"],
  ])("is the deployment %s", async (name, message) => {
    const { exitCode, err } = await broken({}).run(
      "old.json",
      "new.json",
      "--against-deployment",
      name,
    );
    expect(exitCode).toBe(2);
    expect(err).toContain(message);
  });

  it("is a directory without a configuration, unless another one is named", async () => {
    const program = broken({
      "agtp-server.open.toml": configFile(),
      "endpoints/a.toml": endpointFile({ method: "BOOK", path: "/room" }),
    });
    unlinkSync(join(program.directory, "site/agtp-server.toml"));
    const without = await program.report();
    expect(without).toMatchObject({ exitCode: 2 });
    expect(without.err).toBe("agtp-catalog-diff: agtp-server.toml: does not exist\n");
    expect((await program.report("--config", "agtp-server.open.toml")).exitCode).toBe(1);
  });

  it("is a file that a link brings in from elsewhere", async () => {
    const program = broken({ "endpoints/a.toml": endpointFile(room) });
    symlinkSync(
      join(program.directory, "old.json"),
      join(program.directory, "site/endpoints/l.toml"),
    );
    expect(await program.report()).toMatchObject({ exitCode: 2 });
  });
});
