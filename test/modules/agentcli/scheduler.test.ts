import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import Database from "libsql";
import { describe, expect, it } from "vitest";
import { compiledId } from "../../../src/modules/agentcli/compile/task-plan.ts";
import { sanitizeText } from "../../../src/modules/agentcli/methods/inspect-method.ts";
import { readJobColumns } from "../../../src/modules/agentcli/scheduler/capabilities.ts";
import { locateScheduler } from "../../../src/modules/agentcli/scheduler/invocation.ts";
import {
  call,
  followingTask,
  type Json,
  manifestOf,
  promptTask,
  shellTask,
  testWorld,
} from "../../support/agentcli.ts";
import { makeDirectory } from "../../support/directory.ts";

const SCHEDULER = resolve(import.meta.dirname, "../../support/fake-scheduler.mjs");

type Members = Readonly<Record<string, unknown>>;

interface FakeScheduler {
  readonly jobs: readonly Json[];
  readonly calls: readonly (readonly string[])[];
  apply(manifest: Members, params?: Members, env?: Record<string, string>): Promise<Json>;
  write(jobs: readonly object[]): void;
}

/** The scheduler is a script for Node, and its program's name says so. */
function makeScheduler(): FakeScheduler {
  const directory = makeDirectory({ "bin.js": `import(${JSON.stringify(SCHEDULER)});` });
  const dbPath = join(directory, "jobs.json");
  const state = () =>
    existsSync(dbPath) ? JSON.parse(readFileSync(dbPath, "utf8")) : { jobs: [], calls: [] };
  return {
    get jobs() {
      return state().jobs;
    },
    get calls() {
      return state().calls;
    },
    write: (jobs) => writeFileSync(dbPath, JSON.stringify({ jobs, calls: [] })),
    apply: (manifest, params = {}, env = {}) => {
      const schedulerBin = join(directory, "bin.js");
      const world = testWorld({ directory, env: { PATH: process.env["PATH"] ?? "", ...env } });
      return call("agentcli.apply", { manifest, dbPath, schedulerBin, ...params }, { world });
    },
  };
}

const TWO = manifestOf([
  promptTask(),
  promptTask({
    id: "t2",
    name: "U",
    schedule: undefined,
    trigger: { parent: "t1", on: "failure" },
  }),
]);

// agentcli protocol "agentcli.apply"
describe("apply", () => {
  it("creates jobs, updates them the second time, and calls without a shell", async () => {
    const scheduler = makeScheduler();
    const first = await scheduler.apply(TWO);
    expect(first["result"]).toMatchObject({
      ok: true,
      target: "openclaw-scheduler",
      dry_run: false,
      scheduler: { command: expect.stringContaining("bin.js"), db_path: expect.any(String) },
      capabilities: { source: "runtime", negotiated: true, handoff_version: "2" },
      handoff: { field_version: "2", projected_fields: 63, v02_fields_included: true },
      job_count: 2,
      actions: [
        {
          action: "created",
          job_id: compiledId("w1", "t1"),
          name: "W: T",
          invocation_mode: "schedule",
        },
        {
          action: "created",
          job_id: compiledId("w1", "t2"),
          name: "W: U",
          invocation_mode: "trigger",
        },
      ],
    });
    expect(first["result"]).not.toHaveProperty("explain");
    expect(scheduler.jobs[0]).toMatchObject({ enabled: true, origin: "system" });
    expect(Object.values(scheduler.jobs[0] ?? {})).not.toContain(null);
    const second = await scheduler.apply(TWO, { explain: true });
    expect(second["result"]).toMatchObject({
      actions: [{ action: "updated" }, { action: "updated" }],
      explain: [{ task_id: "t1" }, { task_id: "t2" }],
    });
    expect(scheduler.jobs).toHaveLength(2);
    for (const [json] of scheduler.calls) expect(json).toBe("--json");
  });

  it("writes nothing in a dry run", async () => {
    const scheduler = makeScheduler();
    const { result } = await scheduler.apply(TWO, { dryRun: true });
    expect(result).toMatchObject({ dry_run: true, actions: [{ action: "created" }, {}] });
    expect(scheduler.jobs).toEqual([]);
    const asked = scheduler.calls.map(([, group, action]) => action ?? group);
    expect(asked).toEqual(["capabilities", "list", "validate", "validate"]);
  });

  it("writes nothing where the scheduler would refuse a job, and says each that it would", async () => {
    const bad = (id: string, schedule: object) => promptTask({ id, name: id, schedule });
    const manifest = manifestOf([
      promptTask(),
      bad("t2", { cron: "every day" }),
      bad("t3", { cron: "0 9 * * *", tz: "Mars/Olympus" }),
    ]);
    const scheduler = makeScheduler();
    for (const dryRun of [false, true]) {
      const { error } = await scheduler.apply(manifest, { dryRun });
      expect(error).toMatchObject({
        message: expect.stringContaining('Job "W: t2" is refused: CronPattern: invalid: every day'),
        data: {
          code: "scheduler_error",
          details: {
            job_id: compiledId("w1", "t2"),
            written: [],
            refused: [
              { job_id: compiledId("w1", "t2") },
              { job_id: compiledId("w1", "t3"), message: expect.stringContaining("Mars/Olympus") },
            ],
          },
        },
      });
    }
    expect(scheduler.jobs).toEqual([]);
    await scheduler.apply(manifestOf([promptTask()]));
    const later = manifestOf([promptTask({ schedule: { cron: "never" } })]);
    expect((await scheduler.apply(later))["error"]).toMatchObject({
      data: { details: { refused: [{ job_id: compiledId("w1", "t1") }] } },
    });
    expect(scheduler.jobs).toMatchObject([{ schedule_cron: "0 9 * * *" }]);
  });

  it("takes an older scheduler, which judges no job beforehand, at what it writes", async () => {
    const scheduler = makeScheduler();
    const manifest = manifestOf([
      promptTask(),
      promptTask({ id: "t2", name: "U", schedule: { cron: "every day" } }),
    ]);
    const { error } = await scheduler.apply(manifest, {}, { FAKE_FAULTS: "no-validate" });
    expect(error).toMatchObject({
      data: { details: { job_id: compiledId("w1", "t2"), written: [compiledId("w1", "t1")] } },
    });
  });

  it("adopts a job of the same name: made under the stable id, then deleted", async () => {
    const scheduler = makeScheduler();
    scheduler.write([{ id: "legacy", name: "W: T", origin: "user" }]);
    const { result } = await scheduler.apply(TWO, { adoptBy: "name" });
    expect(result?.["actions"]).toMatchObject([
      { action: "adopted", adopted_from_job_id: "legacy", job_id: compiledId("w1", "t1") },
      { action: "created" },
    ]);
    expect(scheduler.jobs.map(({ id, origin }) => [id, origin])).toEqual([
      [compiledId("w1", "t1"), "user"],
      [compiledId("w1", "t2"), "system"],
    ]);
  });

  it("takes an adoption back when the old job cannot be deleted", async () => {
    const scheduler = makeScheduler();
    scheduler.write([{ id: "legacy", name: "W: T" }]);
    const { error } = await scheduler.apply(TWO, { adoptBy: "name" }, { FAKE_FAULTS: "delete" });
    expect(error).toMatchObject({
      code: -32000,
      message: expect.stringContaining("Manual cleanup may be required"),
      data: { code: "scheduler_error", details: { written: [] } },
    });
  });

  it.each<[string, readonly object[], Members, string]>([
    [
      "several jobs of one name",
      [
        { id: "a", name: "W: T" },
        { id: "b", name: "W: T" },
      ],
      TWO,
      "Cannot use --adopt-by name because existing scheduler jobs have duplicate names: W: T",
    ],
    [
      "compiled names that are not unique",
      [],
      manifestOf([promptTask(), promptTask({ id: "t2" })]),
      "Cannot use --adopt-by name when compiled job names are not unique: W: T",
    ],
  ])("does not adopt with %s", async (_, jobs, manifest, message) => {
    const scheduler = makeScheduler();
    scheduler.write(jobs);
    const { error } = await scheduler.apply(manifest, { adoptBy: "name" });
    expect(error).toMatchObject({ code: -32602, message, data: { code: "invalid_argument" } });
    expect(scheduler.jobs).toEqual(jobs);
  });

  it("falls back to the least where the scheduler cannot say what it can do", async () => {
    const { result } = await makeScheduler().apply(TWO, {}, { FAKE_FAULTS: "capabilities" });
    expect(result).toMatchObject({
      capabilities: { source: "static", negotiated: false, handoff_version: null },
      handoff: { field_version: "1", projected_fields: 40, v02_fields_included: false },
    });
  });

  it("hands over nothing that the scheduler would not enforce", async () => {
    const scheduler = makeScheduler();
    const manifest = manifestOf([promptTask({ authorization: { ref: "p" } })], {
      authorization_profiles: [{ id: "p", provider: "none" }],
    });
    const { error } = await scheduler.apply(manifest, {}, { FAKE_FAULTS: "authorization_hook" });
    expect(error).toMatchObject({
      code: -32000,
      message:
        'Job "W: T" declares authorization but the scheduler does not support authorization_hook',
      data: { code: "unsupported_capability", error_type: "invalid_argument" },
    });
    expect(scheduler.jobs).toEqual([]);
  });

  it("verifies required proofs itself where the scheduler cannot", async () => {
    const scheduler = makeScheduler();
    const manifest = manifestOf(
      [promptTask({ authorization_proof: { ref: "p", verify: { required: true } } })],
      {
        authorization_proof_profiles: [
          {
            ...{ id: "p", method: "jwt", jwks_uri: "https://keys.example/jwks.json" },
            proof: { value_from: { env: "P" } },
          },
        ],
      },
    );
    const { error } = await scheduler.apply(manifest, {}, { FAKE_FAULTS: "proofs" });
    expect(error).toMatchObject({ data: { code: "authorization_proof_failed" } });
    expect(scheduler.jobs).toEqual([]);
    expect((await scheduler.apply(manifest))["result"]).toMatchObject({ ok: true });
  });

  it("says what the scheduler said when it fails, and how far it came", async () => {
    const scheduler = makeScheduler();
    const { error } = await scheduler.apply(TWO, {}, { FAKE_FAULTS: "add" });
    expect(error).toEqual({
      code: -32000,
      message: "no add today",
      data: {
        ...{ code: "scheduler_error", error_type: "internal_error" },
        details: { job_id: compiledId("w1", "t1"), written: [] },
      },
    });
  });

  it("reports nothing as done that the scheduler says it refused, whatever it exits with", async () => {
    const scheduler = makeScheduler();
    const added = await scheduler.apply(TWO, {}, { FAKE_FAULTS: "refused-add" });
    expect(added["error"]).toMatchObject({ code: -32000, message: "add is refused" });
    scheduler.write([{ id: "legacy", name: "W: T" }]);
    const faults = { FAKE_FAULTS: "refused-delete" };
    const adopted = await scheduler.apply(TWO, { adoptBy: "name" }, faults);
    expect(adopted["error"]).toMatchObject({
      message: expect.stringMatching(/^Failed to adopt .*delete is refused/),
      data: { code: "scheduler_error" },
    });
  });

  it("says before it writes any that a job is too large for a command line", async () => {
    const scheduler = makeScheduler();
    const large = promptTask({ id: "t2", prompt: "漢".repeat(90_000) });
    for (const params of [{ dryRun: true }, {}]) {
      const { error } = await scheduler.apply(manifestOf([promptTask(), large]), params);
      expect(error).toMatchObject({
        message:
          'Job "W: T" cannot be handed over: its arguments are longer than a command line may be',
        data: {
          code: "scheduler_error",
          details: { job_id: compiledId("w1", "t2"), written: [] },
        },
      });
    }
    expect(scheduler.jobs).toEqual([]);
  });

  it("writes a job after the one that it follows on, wherever the manifest has it", async () => {
    const scheduler = makeScheduler();
    const manifest = manifestOf([
      followingTask("c", "b"),
      followingTask("b", "a"),
      promptTask({ id: "a" }),
    ]);
    const { result } = await scheduler.apply(manifest);
    expect(result?.["actions"]).toMatchObject(
      ["c", "b", "a"].map((id) => ({ action: "created", job_id: compiledId("w1", id) })),
    );
    expect(scheduler.jobs.map(({ id }) => id)).toEqual(
      ["a", "b", "c"].map((id) => compiledId("w1", id)),
    );
  });

  it("says what the scheduler has thrown, without its code and its stack", async () => {
    const { error } = await makeScheduler().apply(TWO, {}, { FAKE_FAULTS: "thrown-add" });
    expect(error).toMatchObject({ code: -32000, message: "add has thrown" });
  });

  it("says that there is no scheduler", async () => {
    const { error } = await call("agentcli.apply", {
      manifest: TWO,
      schedulerBin: "/nonexistent/scheduler",
    });
    expect(error).toMatchObject({
      message:
        "Failed to execute scheduler command: /nonexistent/scheduler --json jobs list: program not found",
    });
  });

  it("never lets a name become part of a command line", async () => {
    const scheduler = makeScheduler();
    const name = "x'; touch owned; echo '$(id)`id`";
    await scheduler.apply(manifestOf([shellTask("echo", ["a"], { name })]));
    expect(scheduler.jobs[0]?.["name"]).toBe(`W: ${name}`);
  });

  it.each([
    [{ prefix: "/opt/x", bin: "y" }, "npm exec --prefix /opt/x openclaw-scheduler --"],
    [{ prefix: undefined, bin: "/a/b.js" }, `${process.execPath} /a/b.js`],
    [{ prefix: undefined, bin: undefined }, "openclaw-scheduler"],
  ])("finds the scheduler of %j", (location, label) => {
    expect(locateScheduler({ ...location, dbPath: undefined }).label).toBe(label);
  });
});

// agentcli protocol "agentcli.inspect"
describe("inspect", () => {
  function makeDatabase(): { readonly directory: string; readonly dbPath: string } {
    const directory = makeDirectory();
    const dbPath = join(directory, "scheduler.db");
    const database = new Database(dbPath);
    database.exec("CREATE TABLE jobs (id TEXT, name TEXT, identity TEXT, created_at INTEGER)");
    const insert = database.prepare("INSERT INTO jobs VALUES (?, ?, ?, ?)");
    for (let at = 1; at <= 25; at += 1) {
      insert.run(
        `j${at}`,
        `\u001b[31mred\u001b[0m \`\`\` ${at}`,
        '{"ref":"p","trust":{"level":"x"}}',
        at,
      );
    }
    database.close();
    return { directory, dbPath };
  }
  const inspect = (params: Members, directory = "/") =>
    call("agentcli.inspect", params, { world: testWorld({ directory }) });

  it("reads the newest rows first, twenty unless told", async () => {
    const { dbPath, directory } = makeDatabase();
    const { result } = await inspect({ dbPath: "scheduler.db" }, directory);
    expect(result).toMatchObject({
      ok: true,
      target: "openclaw-scheduler",
      entity: "jobs",
      count: 20,
    });
    const { result: few } = await inspect({
      dbPath,
      limit: "2",
      fields: "id, identity.trust.level,nope",
    });
    expect(few?.["items"]).toEqual([
      { id: "j25", identity: { trust: { level: "x" } } },
      { id: "j24", identity: { trust: { level: "x" } } },
    ]);
  });

  it("takes out what could take over a terminal or a prompt", async () => {
    const { dbPath } = makeDatabase();
    const { result } = await inspect({ dbPath, limit: 1, fields: ["name"], sanitize: "basic" });
    expect(result?.["items"]).toEqual([{ name: "red `\u2060`\u2060` 25" }]);
    expect(sanitizeText("a\u0000\u009b\u001b]0;title\u0007b\tc\nd")).toBe("ab\tc\nd");
    for (let length = 3; length < 12; length += 1) {
      expect(sanitizeText("`".repeat(length)), `${length} of them`).not.toContain("```");
    }
  });

  it("judges its arguments in a fixed order", async () => {
    const { dbPath } = makeDatabase();
    const all = { entity: "x", sanitize: "y", limit: 0, fields: 5 };
    const message = async (params: Members) => (await inspect(params))["error"]?.["message"];
    expect(await message(all)).toBe("Unsupported inspect entity: x");
    expect(await message({ ...all, entity: "jobs" })).toBe("Unsupported sanitize mode: y");
    const sane = { ...all, entity: "jobs", sanitize: "none" };
    expect(await message(sane)).toBe(
      "Missing scheduler database path. Pass dbPath or configure a default.",
    );
    expect(await message({ ...sane, dbPath: "/nope.db" })).toBe(
      "Scheduler database not found: /nope.db",
    );
    expect(await message({ ...sane, dbPath })).toBe("inspect limit must be a positive integer");
    const wrong = "inspect fields must be a comma-delimited string or an array of field names";
    expect(await message({ ...sane, dbPath, limit: 1 })).toBe(wrong);
    expect(await message({ ...sane, dbPath, limit: 1, fields: ["a", " "] })).toBe(
      "inspect fields[1] must be a non-empty string",
    );
  });

  it("fails on what is no database of a scheduler, and changes nothing", async () => {
    const { dbPath, directory } = makeDatabase();
    const { error } = await inspect({ dbPath, entity: "runs" });
    expect(error).toMatchObject({ code: -32000, data: { code: "scheduler_error" } });
    writeFileSync(join(directory, "text.db"), "no database".repeat(100));
    const { error: other } = await inspect({ dbPath: join(directory, "text.db") });
    expect(other).toMatchObject({ data: { code: "scheduler_error" } });
    expect(readFileSync(join(directory, "text.db"), "utf8")).toMatch(/^no database/);
  });
});

// agentcli spec "openclaw-scheduler"
describe("safeguards that a scheduler has no column for", () => {
  const GUARDED = manifestOf([
    shellTask("true", [], {
      verify: { shell: "true" },
      approval: { policy: "manual", risk_level: "high", approver_scope: "ops:approve" },
    }),
    promptTask({ id: "t2", approval: { required: true } }),
  ]);
  const COLUMNS = [
    ...["verify_shell", "verify_timeout_s", "verify_on_failure"],
    ...["approval_risk_level", "approval_approver_scope"],
  ];

  it("are warned of, and refused under strict before anything is written", async () => {
    const scheduler = makeScheduler();
    const strict = await scheduler.apply(GUARDED, { strict: true });
    expect(strict["error"]).toMatchObject({
      message: expect.stringContaining("declares verify, which this scheduler has no column for"),
      data: { code: "unsupported_capability" },
    });
    expect(strict["error"]?.["data"]?.["details"]).toHaveLength(3);
    expect(scheduler.jobs).toEqual([]);
    for (const params of [{ dryRun: true }, {}]) {
      const { result } = await scheduler.apply(GUARDED, params);
      expect(result?.["warnings"]).toMatchObject([
        { job_id: compiledId("w1", "t1"), safeguard: "verify" },
        { job_id: compiledId("w1", "t1"), safeguard: "approval.approver_scope" },
        { job_id: compiledId("w1", "t1"), safeguard: "approval.risk_level" },
      ]);
    }
    expect(Object.keys(scheduler.jobs[0] ?? {})).not.toContain("verify_shell");
    const plain = await scheduler.apply(TWO, { strict: true });
    expect(plain["result"]).not.toHaveProperty("warnings");
  });

  it("are handed over where its jobs have the columns, and taken back with them", async () => {
    const scheduler = makeScheduler();
    const env = { FAKE_COLUMNS: COLUMNS.join(",") };
    scheduler.write([Object.fromEntries([["id", "x"], ...COLUMNS.map((name) => [name, null])])]);
    const { result } = await scheduler.apply(GUARDED, { strict: true }, env);
    expect(result).not.toHaveProperty("warnings");
    expect(scheduler.jobs[1]).toMatchObject({
      ...{ verify_shell: "true", verify_timeout_s: 30, verify_on_failure: "error" },
      ...{ approval_risk_level: "high", approval_approver_scope: "ops:approve" },
    });
    await scheduler.apply(manifestOf([shellTask("true", [])]), {}, env);
    expect(scheduler.jobs[1]).toMatchObject({ verify_shell: null, approval_approver_scope: null });
  });

  it("go with a job where a scheduler of the first version has nothing of the kind", async () => {
    const scheduler = makeScheduler();
    const contract = { sandbox: "strict", network: "none" };
    const governed = manifestOf(
      [
        shellTask("true", [], {
          ...{ contract, identity: { ref: "i" }, child_credential_policy: "none" },
        }),
      ],
      { identity_profiles: [{ id: "i", provider: "none" }] },
    );
    const env = { FAKE_HANDOFF: "1" };
    const { result } = await scheduler.apply(governed, {}, env);
    expect(result).toMatchObject({
      handoff: { field_version: "1", v02_fields_included: false },
      warnings: ["identity", "contract", "child_credential_policy"].map((safeguard) => ({
        ...{ job_id: compiledId("w1", "t1"), safeguard },
      })),
    });
    const strict = await scheduler.apply(governed, { strict: true }, env);
    expect(strict["error"]).toMatchObject({ data: { code: "unsupported_capability" } });
    const second = await scheduler.apply(governed, { strict: true });
    expect(second["result"]).not.toHaveProperty("warnings");
  });

  it("have fields that are no safeguards beside them: a profile that is missed, a format that is not", async () => {
    const task = shellTask("true", [], {
      ...{ auth_profile: "acme:work", output: { format: "json" } },
    });
    const without = makeScheduler();
    const { result } = await without.apply(manifestOf([task]));
    expect(result?.["warnings"]).toMatchObject([{ safeguard: "auth_profile" }]);
    const scheduler = makeScheduler();
    const env = { FAKE_COLUMNS: "auth_profile,output_format" };
    scheduler.write([{ id: "x", auth_profile: null, output_format: null }]);
    expect((await scheduler.apply(manifestOf([task]), {}, env))["result"]).not.toHaveProperty(
      "warnings",
    );
    expect(scheduler.jobs[1]).toMatchObject({ auth_profile: "acme:work", output_format: "json" });
    await scheduler.apply(manifestOf([shellTask("true", [])]), {}, env);
    expect(scheduler.jobs[1]).toMatchObject({ auth_profile: null, output_format: null });
  });

  it("are looked for in the table of a database without jobs", async () => {
    const directory = makeDirectory({});
    const file = join(directory, "scheduler.db");
    const database = new Database(file);
    database.exec(
      `CREATE TABLE jobs (id TEXT, ${COLUMNS.map((name) => `${name} TEXT`).join(", ")})`,
    );
    database.close();
    const columns = await readJobColumns([], "scheduler.db", directory);
    expect(COLUMNS.filter((name) => !columns.has(name))).toEqual([]);
    expect((await readJobColumns([], "none.db", directory)).size).toBe(0);
    writeFileSync(join(directory, "text.db"), "no database");
    expect((await readJobColumns([], "text.db", directory)).size).toBe(0);
  });
});
