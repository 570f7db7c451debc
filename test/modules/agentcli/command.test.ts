import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { manifestOf, promptTask, runRpc, shellTask } from "../../support/agentcli.ts";
import { makeDirectory } from "../../support/directory.ts";

const MANIFEST = JSON.stringify(manifestOf([promptTask()]));

describe("agtp-rpc", () => {
  it("serves the protocol without a command", async () => {
    const input = '{"jsonrpc":"2.0","id":1,"method":"agentcli.ping"}\n';
    for (const args of [[], ["serve"], ["--db", "x.db"]]) {
      const { exitCode, out, err } = await runRpc(args, { input });
      expect([exitCode, err]).toEqual([0, ""]);
      expect(
        out
          .split("\n")
          .slice(0, -1)
          .map((line) => JSON.parse(line)),
      ).toMatchObject([{ method: "agentcli.ready" }, { id: 1, result: { pong: true } }]);
    }
  });

  it("takes the database of the command line for a default", async () => {
    const input = '{"jsonrpc":"2.0","id":1,"method":"agentcli.inspect"}\n';
    const { out } = await runRpc(["--db", "/nope.db"], { input });
    expect(out).toContain("Scheduler database not found: /nope.db");
    const env = { AGENTCLI_SCHEDULER_DB: "/other.db" };
    expect((await runRpc([], { input, env })).out).toContain("not found: /other.db");
  });

  it.each([
    ["a file", (directory: string) => join(directory, "m.json"), ""],
    ["standard input", () => "-", MANIFEST],
    ["the command line itself", () => MANIFEST, ""],
  ])("reads a manifest from %s", async (_, source, input) => {
    const directory = makeDirectory({ "m.json": MANIFEST });
    const run = await runRpc(["validate", source(directory)], { directory, input });
    expect(run).toMatchObject({ exitCode: 0, err: "" });
    expect(run.out).toBe(`${JSON.stringify({ ok: true, errors: [], warnings: [] }, null, 2)}\n`);
  });

  it.each<[string, readonly string[], object]>([
    [
      "an invalid manifest",
      ["validate", '{"version":"0.2","workflows":[]}', "--json"],
      { error_type: "validation_error", code: "validation_error", validation: { ok: false } },
    ],
    [
      "a missing file",
      ["validate", "missing-manifest.json"],
      {
        error: expect.stringMatching(/^Input not found/),
        error_type: "invalid_argument",
        code: "invalid_argument",
      },
    ],
    [
      "no JSON",
      ["compile", "{nope"],
      { error: expect.stringMatching(/^Invalid JSON in the command line/) },
    ],
    [
      "a member that is there twice",
      ["validate", '{"version":"0.1","version":"0.2","workflows":[]}'],
      { error: 'The JSON in the command line has "version" twice in one object' },
    ],
    [
      "an unknown target",
      ["compile", MANIFEST, "--target", "x"],
      { error: "Unsupported compile target: x" },
    ],
    [
      "a scheduler that is not there",
      ["apply", MANIFEST, "--scheduler-bin", "/nope/x"],
      { code: "scheduler_error" },
    ],
    ["no database", ["inspect", "jobs"], { code: "invalid_argument" }],
  ])("says as JSON on standard error what is wrong with %s", async (_, args, error) => {
    const run = await runRpc(args, { directory: makeDirectory() });
    expect(run).toMatchObject({ exitCode: 1, out: "" });
    expect(JSON.parse(run.err)).toMatchObject({ ok: false, ...error });
  });

  it.each([
    [["--bogus"]],
    [["compile"]],
    [["nope"]],
    [["identity"]],
    [["compile", MANIFEST, "--target"]],
  ])("takes %j for no command line", async (args) => {
    const { exitCode, out, err } = await runRpc(args);
    expect([exitCode, out]).toEqual([2, ""]);
    expect(err).not.toBe("");
  });

  it("names the command that there is none of, and helps", async () => {
    expect((await runRpc(["nope"])).err).toContain("unknown command 'nope'");
    const { exitCode, out } = await runRpc(["help"]);
    expect([exitCode, out]).toEqual([0, expect.stringContaining("Usage: agtp-rpc")]);
  });

  it("takes no other form of output than it has", async () => {
    const run = await runRpc(["version"], { env: { AGENTCLI_OUTPUT: "xml" } });
    expect(run).toMatchObject({ exitCode: 1, out: "" });
    expect(JSON.parse(run.err)).toMatchObject({
      code: "invalid_argument",
      error: "Unknown AGENTCLI_OUTPUT value: xml. Accepted values: json, ndjson",
    });
  });

  it("compiles as the scheduler's own integration test calls it", async () => {
    const directory = makeDirectory({ "m.json": MANIFEST });
    const path = join(directory, "m.json");
    const { exitCode, out } = await runRpc(["compile", path, "--target", "openclaw-scheduler"]);
    expect(exitCode).toBe(0);
    expect(JSON.parse(out)).toMatchObject({
      ok: true,
      target: "openclaw-scheduler",
      output: { jobs: [{ id: expect.any(String) }] },
    });
  });

  it("takes the target of the environment, and explains", async () => {
    const env = { AGENTCLI_TARGET: "agtp" };
    const { out } = await runRpc(["compile", "--explain", MANIFEST], { env });
    expect(JSON.parse(out)).toMatchObject({ target: "agtp", output: { explain: [{}] } });
  });

  it("writes artifacts inside the directory, and nowhere else", async () => {
    const outside = makeDirectory();
    const directory = makeDirectory();
    symlinkSync(outside, join(directory, "link"));
    const run = await runRpc(["compile", MANIFEST, "--write", "plan.json"], { directory });
    expect(JSON.parse(run.out)).toMatchObject({ written_to: join(directory, "plan.json") });
    expect(JSON.parse(readFileSync(join(directory, "plan.json"), "utf8"))).toMatchObject({
      target: "standalone",
    });
    const deep = await runRpc(["compile", MANIFEST, "--write", "out/a/plan.json"], { directory });
    expect(JSON.parse(deep.out)).toMatchObject({ written_to: join(directory, "out/a/plan.json") });
    symlinkSync("/no/such/place", join(directory, "nowhere"));
    const lost = await runRpc(["compile", MANIFEST, "--write", "nowhere/x.json"], { directory });
    expect(lost.exitCode).toBe(1);
    for (const file of [
      "../x.json",
      "../new/x.json",
      "link/x.json",
      "link/new/x.json",
      join(outside, "x.json"),
    ]) {
      const refused = await runRpc(["compile", MANIFEST, "--write", file], { directory });
      expect(refused.exitCode).toBe(1);
      expect(readdirSync(outside)).toEqual([]);
    }
  });

  it("prints schemas, descriptions, versions and targets", async () => {
    const json = async (...args: readonly string[]) => JSON.parse((await runRpc(args)).out);
    expect(await json("schema", "manifest")).toMatchObject({
      schema_format: "json-schema-draft-2020-12",
      schema: { additionalProperties: false },
    });
    expect(await json("schema", "manifest", "--legacy")).toMatchObject({
      schema_format: "agentcli-legacy",
      schema: { fields: { version: { const: "0.2" } } },
    });
    const { schema: manifest } = await json("schema", "manifest", "--legacy");
    const { schema: task } = await json("schema", "task", "--legacy");
    expect(manifest.fields.workflows.items.fields.tasks.items).toEqual(task);
    expect(task.note).toMatch(/^Exactly one of schedule or trigger/);
    const { value_from: source } =
      manifest.fields.authorization_proof_profiles.items.fields.proof.fields;
    expect(Object.keys(source.fields)).toEqual(["env", "file", "literal", "command"]);
    expect(await json("schema", "scheduler-job", "--legacy")).toMatchObject({
      schema: { fields: { source: { fields: { task_id: { type: "string" } } } } },
    });
    expect(await json("describe")).toMatchObject({ description: { name: "commands" } });
    expect(await json("version")).toMatchObject({ ok: true, manifest_version: "0.2" });
    expect(await json("targets")).toMatchObject({ targets: [{ name: "standalone" }, {}, {}] });
    expect(await json("identity", "providers")).toMatchObject({
      providers: [{ name: "none" }, {}, {}, { name: "delegated-bearer" }],
    });
    expect(await json("authorization-proof", "schema", "jwt")).toMatchObject({ verifier: "jwt" });
    expect(await json("authorization", "schema", "opa")).toMatchObject({ provider: "opa" });
    expect(await json("evidence", "schema", "ssh")).toMatchObject({ methods: ["ssh-signature"] });
  });

  it("resolves and evaluates tasks", async () => {
    const manifest = JSON.stringify(
      manifestOf([shellTask("true", [], { authorization: { ref: "p" } })], {
        authorization_profiles: [{ id: "p", provider: "none" }],
      }),
    );
    const run = await runRpc(["authorization", "evaluate", manifest, "t1", "--workflow", "w1"]);
    expect(JSON.parse(run.out)).toMatchObject({ authorization: { decision: "permit" } });
    const identity = await runRpc(["identity", "resolve", manifest, "t1"]);
    expect(JSON.parse(identity.out)).toMatchObject({ resolved_identity: { provider: "none" } });
    const proof = await runRpc(["authorization-proof", "verify", manifest, "t1"]);
    expect(JSON.parse(proof.out)).toMatchObject({ ok: true, authorization_proof: null });
    const delegation = await runRpc(["identity", "validate-delegation", manifest, "t1"]);
    expect(JSON.parse(delegation.out)).toMatchObject({ delegation: { valid: true } });
  });

  it("converts", async () => {
    const old = JSON.stringify(manifestOf([promptTask()], { version: "0.1" }));
    const directory = makeDirectory();
    const run = await runRpc(["convert", old, "--output", "new.json"], { directory });
    expect(JSON.parse(run.out)).toMatchObject({ manifest: { version: "0.2" } });
    expect(JSON.parse(readFileSync(join(directory, "new.json"), "utf8")).version).toBe("0.2");
  });
});
