import { describe, expect, it } from "vitest";
import { canonicalDigest } from "../../../src/identity/canonical-form.ts";
import { findTarget } from "../../../src/modules/agentcli/compile/targets.ts";
import { compiledId } from "../../../src/modules/agentcli/compile/task-plan.ts";
import { isFailure } from "../../../src/modules/agentcli/failure.ts";
import type { Manifest } from "../../../src/modules/agentcli/manifest/manifest.ts";
import { validateManifest } from "../../../src/modules/agentcli/manifest/validate.ts";
import {
  call,
  followingTask,
  type Json,
  manifestOf,
  promptTask,
  shellTask,
} from "../../support/agentcli.ts";

function compile(target: string, manifest: object): Json {
  expect(validateManifest(manifest).errors).toEqual([]);
  const compiled = findTarget(target)?.compile(manifest as Manifest);
  if (compiled === undefined || isFailure(compiled)) throw new Error(JSON.stringify(compiled));
  return { ...compiled.output, explain: compiled.explain } as unknown as Json;
}

function jobs(manifest: object): readonly Json[] {
  return compile("openclaw-scheduler", manifest)["jobs"] as unknown as readonly Json[];
}

function planned(manifest: object): readonly Json[] {
  const { workflows } = compile("standalone", manifest) as unknown as {
    workflows: readonly { tasks: readonly Json[] }[];
  };
  return workflows.flatMap(({ tasks }) => tasks);
}

const HELLO = {
  version: "0.1",
  workflows: [
    {
      id: "daily-report",
      name: "Daily Report",
      tasks: [
        promptTask({
          ...{ id: "collect", name: "Collect Metrics", prompt: "Collect." },
          schedule: { cron: "0 9 * * *", tz: "America/New_York" },
          delivery: { mode: "announce", channel: "telegram", to: "@owner_dm" },
          reliability: { guarantee: "at-least-once", max_retries: 2 },
        }),
        promptTask({
          ...{ id: "alert-followup", name: "Alert Followup", schedule: undefined },
          trigger: { parent: "collect", on: "success", condition: "contains:ALERT" },
          approval: { policy: "manual", timeout_s: 1800 },
        }),
      ],
    },
  ],
};

// agentcli spec "Compiled ids", "Canonical digest"
describe("compiled ids and digests", () => {
  it("are those of the published vectors", () => {
    expect(compiledId("w1", "t1")).toBe("8e266ffdf95bc0c26d47528a305cb48e");
    const example = {
      version: "0.1",
      workflows: [{ id: "w1", name: "W", tasks: [promptTask()] }],
    };
    expect(canonicalDigest(example)).toBe(
      "sha256:126dab80256636c110d0c87134799d076c941b8973238e85f15746535b2e5508",
    );
  });
});

describe("the target standalone", () => {
  it("fills in every default", () => {
    const [plan] = planned(manifestOf([promptTask()]));
    expect(plan).toMatchObject({
      id: "8e266ffdf95bc0c26d47528a305cb48e",
      source: { workflow_id: "w1", task_id: "t1" },
      name: "W: T",
      enabled: true,
      invocation: { mode: "schedule", cron: "0 9 * * *", tz: "UTC" },
      execution: {
        ...{ session_target: "isolated", agent_id: "main", payload_kind: "agentTurn" },
        payload: { prompt: "hello" },
        model_policy: { provider: null, model: null, thinking: null, scheduler_model: null },
      },
      intent: { mode: "execute", read_only: null },
      output: { preview_bytes: 2000, offload: "auto", retrieve: "on-demand" },
      budgets: { max_iterations: null, max_fanout: 25, max_context_items: 5 },
      delivery: { mode: "none", channel: null, to: null },
      reliability: { guarantee: "at-most-once", overlap_policy: "skip", max_retries: 0 },
      runtime: { timeout_ms: null },
      approval: { required: 0, timeout_s: null, auto: null, policy: "none" },
      context: { retrieval: "none", limit: 5 },
      identity: { principal: null, run_as: null, attestation: null },
      contract: { sandbox: null, trust_enforcement: null },
      authorization_proof: null,
      parent_compiled_id: null,
    });
  });

  it("keeps triggers as edges between compiled ids", () => {
    const { workflows } = compile("standalone", HELLO) as unknown as {
      workflows: readonly { edges: readonly object[] }[];
    };
    expect(workflows[0]?.edges).toEqual([
      {
        from: compiledId("daily-report", "collect"),
        to: compiledId("daily-report", "alert-followup"),
        ...{ on: "success", condition: "contains:ALERT", delay_s: 0 },
      },
    ]);
  });

  it("explains only when it is asked to", async () => {
    const manifest = manifestOf([promptTask()]);
    const plain = await call("agentcli.compile", { manifest });
    expect(plain["result"]?.["output"]).not.toHaveProperty("explain");
    const explained = await call("agentcli.compile", { manifest, explain: true });
    expect(explained["result"]).toMatchObject({
      ...{ ok: true, target: "standalone" },
      output: { explain: [{ workflow_id: "w1", task_id: "t1", invocation_mode: "schedule" }] },
    });
  });

  it.each([
    [{ approval: { required: true } }, { policy: "manual", required: 1, auto: "reject" }],
    [
      { approval: { policy: "auto-approve" } },
      { policy: "auto-approve", required: 0, auto: "approve" },
    ],
    [
      { approval: { policy: "auto-reject" } },
      { policy: "auto-reject", required: 0, auto: "reject" },
    ],
    [
      { approval: { policy: "manual", auto: "approve" } },
      { auto: "approve", timeout_s: 3600, risk_level: "medium" },
    ],
    [{ approval: {} }, { policy: "none", required: 0, auto: null }],
  ])("normalizes %j", (members, approval) => {
    expect(planned(manifestOf([promptTask(members)]))[0]).toMatchObject({ approval });
  });

  it("writes out the handler of a failure behind its task", () => {
    const task = promptTask({
      ...{ id: "a", name: "A", target: { session_target: "isolated", agent_id: "ops" } },
      on_failure: { shell: { program: "notify" }, delay_s: 5 },
      identity: { principal: "own" },
    });
    const workflow = { identity: { principal: "shared" } };
    const [, handler] = planned(manifestOf([task], { version: "0.1", workflow }));
    expect(handler).toMatchObject({
      source: { task_id: "a.failure" },
      name: "W: A Failure Handler",
      invocation: { mode: "trigger", parent: "a", on: "failure", delay_s: 5, condition: null },
      execution: { session_target: "shell", agent_id: "ops", payload_kind: "shellCommand" },
      // Of the workflow, not of the task that failed.
      identity: { principal: "shared" },
    });
  });
});

// agentcli execution identity "Merge"
describe("what workflow and task say together", () => {
  const profiles = {
    identity_profiles: [
      {
        ...{ id: "p", provider: "env-bearer" },
        subject: { kind: "service", principal: "profile", issuer: "i" },
        auth: { scopes: ["a"], provider_config: { token_env: "T" } },
        trust: { level: "restricted", constraints: { escalation: "fail" } },
      },
    ],
    authorization_proof_profiles: [{ id: "q", method: "none", claims: { a: 1, b: 1 } }],
    authorization_profiles: [
      {
        id: "r",
        provider: "opa",
        provider_config: { endpoint: "http://127.0.0.1" },
        on_error: "deny",
      },
    ],
  };

  it("is merged key by key, lists and attributes whole", () => {
    const [plan] = planned(
      manifestOf(
        [
          promptTask({
            identity: { subject: { display_name: "task" }, auth: { scopes: ["c"] } },
            contract: { network: "none" },
            model_policy: { model: "m" },
          }),
        ],
        {
          ...profiles,
          workflow: {
            identity: {
              ref: "p",
              subject: { principal: "wf", attributes: { a: 1 } },
              auth: { scopes: ["b"] },
            },
            contract: { network: "restricted", audit: "always" },
            model_policy: { provider: "acme", model: "n" },
          },
        },
      ),
    );
    expect(plan?.["identity"]).toMatchObject({
      ref: "p",
      subject: { principal: "wf", display_name: "task", attributes: { a: 1 }, kind: null },
      auth: { scopes: ["c"], provider_config: null },
    });
    expect(plan?.["contract"]).toMatchObject({ network: "none", audit: "always" });
    expect(plan?.["execution"]?.["model_policy"]).toMatchObject({ scheduler_model: "acme/m" });
  });

  it("never relaxes what the broader scope demands", () => {
    const [plan] = planned(
      manifestOf(
        [
          promptTask({
            authorization_proof: { ref: "q", claims: { b: 2 }, verify: { required: false } },
            authorization: { ref: "r", on_error: "warn" },
          }),
        ],
        {
          ...profiles,
          workflow: {
            authorization_proof: { ref: "q", claims: { c: 1 }, verify: { required: true } },
            authorization: { ref: "r", on_error: "deny" },
          },
        },
      ),
    );
    expect(plan?.["authorization_proof"]).toEqual({
      ...{ ref: "q", claims: { b: 2, c: 1 }, verify: { required: true } },
    });
    expect(plan?.["authorization"]).toMatchObject({ on_error: "deny" });
  });

  it("puts no provider setting, input or attribute into jobs", () => {
    const identity = { ref: "p", subject: { attributes: { secret: "s3cret" } } };
    const manifest = manifestOf([promptTask({ identity, authorization: { ref: "r" } })], profiles);
    const output = compile("openclaw-scheduler", manifest);
    const [job] = output["jobs"] as unknown as readonly Json[];
    expect(job).toMatchObject({
      identity_ref: "p",
      identity_subject_kind: "service",
      identity_subject_principal: "profile",
      identity_trust_level: "restricted",
      identity: {
        provider: "env-bearer",
        subject: { attributes_hash: expect.stringMatching(/^sha256:/) },
        auth: { scopes: ["a"], provider_config: null, inputs: null },
      },
      authorization: { provider: "opa", provider_config: null, on_error: "deny" },
    });
    expect(job?.["identity"]).not.toHaveProperty("presentation");
    expect(job?.["identity"]).not.toHaveProperty("scope");
    expect(JSON.stringify(output)).not.toMatch(/s3cret|token_env|endpoint/);
  });
});

describe("the target openclaw-scheduler", () => {
  it("hands over how far an identity reaches, and to programs alone what is presented", () => {
    const presentation = { cleanup: "always", bindings: [{ source: "credentials" }] };
    const manifest = manifestOf([shellTask("true", [], { on_failure: { prompt: "look" } })], {
      identity_profiles: [{ id: "p", provider: "none", presentation }],
      workflow: { identity: { ref: "p", scope: "repo:read" } },
    });
    const [program, prompt] = jobs(manifest);
    expect(program?.["identity"]).toMatchObject({ scope: "repo:read", presentation });
    expect(prompt).toMatchObject({ identity_ref: "p", identity: { scope: "repo:read" } });
    expect(prompt?.["identity"]).not.toHaveProperty("presentation");
  });

  it("asks for a scope of those alone that take over narrowed credentials", async () => {
    const root = promptTask({ child_credential_policy: "downscope" });
    const scoped = followingTask("t2", "t1", { identity: { scope: "repo:read" } });
    expect(jobs(manifestOf([root, scoped]))).toHaveLength(2);
    const own = followingTask("t2", "t1", { child_credential_policy: "independent" });
    expect(jobs(manifestOf([root, own]))).toHaveLength(2);
    const manifest = manifestOf([root, followingTask("t2", "t1")]);
    const { error } = await call("agentcli.compile", { manifest, target: "openclaw-scheduler" });
    expect(error?.["data"]?.["validation"]?.["errors"]).toEqual([
      {
        path: "$.workflows[0].tasks[1].identity.scope",
        message: 'is required: the task inherits "downscope" from its parent "t1"',
      },
    ]);
  });

  it("refuses chains that the scheduler would break off, and circles", async () => {
    const chain = (triggers: number) =>
      Array.from({ length: triggers }, (_, at) => followingTask(`c${at + 1}`, `c${at}`));
    const errors = async (tasks: readonly Readonly<Record<string, unknown>>[]) => {
      const params = { manifest: manifestOf(tasks), target: "openclaw-scheduler" };
      const { error } = await call("agentcli.compile", params);
      return error?.["data"]?.["validation"]?.["errors"] as unknown;
    };
    const root = promptTask({ id: "c0" });
    const message = "follows on more than 10 tasks, one after the other, or on itself";
    expect(await errors([root, ...chain(10)])).toBeUndefined();
    expect(await errors([root, ...chain(11)])).toEqual([
      { path: "$.workflows[0].tasks[11].trigger.parent", message },
    ]);
    expect(await errors([followingTask("a", "b"), followingTask("b", "a")])).toEqual([
      { path: "$.workflows[0].tasks[0].trigger.parent", message },
      { path: "$.workflows[0].tasks[1].trigger.parent", message },
    ]);
  });

  it("makes the jobs of the published example", () => {
    const [collect, followup] = jobs(HELLO);
    expect(collect).toMatchObject({
      id: compiledId("daily-report", "collect"),
      name: "Daily Report: Collect Metrics",
      enabled: 1,
      schedule_cron: "0 9 * * *",
      schedule_tz: "America/New_York",
      payload_kind: "agentTurn",
      payload_message: "Collect.",
      run_timeout_ms: 300_000,
      max_retries: 2,
      delivery_guarantee: "at-least-once",
      delivery_opt_out_reason: null,
      origin: "system",
      parent_id: null,
      trigger_delay_s: 0,
      approval_required: 0,
      approval_timeout_s: 3600,
      approval_auto: "reject",
      output_store_limit_bytes: 65_536,
      output_excerpt_limit_bytes: 2000,
      output_summary_limit_bytes: 5000,
      output_offload_threshold_bytes: 65_536,
      identity: null,
      delete_after_run: 0,
    });
    expect(followup).toMatchObject({
      parent_id: compiledId("daily-report", "collect"),
      ...{ schedule_cron: "0 0 31 2 *", schedule_tz: "UTC" },
      ...{ trigger_on: "success", trigger_condition: "contains:ALERT", approval_required: 1 },
      approval_timeout_s: 1800,
    });
  });

  it.each([
    [{ cwd: "/var/log" }, ["-h", "it's"], `cd '/var/log' && 'df' '-h' 'it'"'"'s'`],
    [{ env: { B: "2", A: "$x" }, stdin: "in" }, [], "printf %s 'in' | A='$x' B='2' 'df'"],
  ])("writes a program with %j as one shell line", (shell, args, line) => {
    expect(jobs(manifestOf([shellTask("df", args, { shell })]))[0]).toMatchObject({
      ...{ payload_kind: "shellCommand", payload_message: line },
    });
  });

  it("has a program checked where it runs", () => {
    const verify = { shell: "test -f 'out put'" };
    const [there, anywhere] = jobs(
      manifestOf([
        shellTask("make", [], { verify, shell: { cwd: "/srv" } }),
        shellTask("make", [], { id: "t2", verify }),
      ]),
    );
    expect(there).toMatchObject({
      verify_shell: `cd '/srv' && 'sh' '-c' 'test -f '"'"'out put'"'"''`,
    });
    expect(anywhere).toMatchObject({ verify_shell: verify.shell, verify_timeout_s: 30 });
  });

  it.each([
    [{ offload: "always" }, 128],
    [{ offload: "never" }, 1_048_576],
    [{ preview_bytes: 20_000 }, 160_000],
    [{ retrieve: "inline", preview_bytes: 100_000 }, 800_000],
  ])("offloads with %j from %d bytes on", (output, bytes) => {
    expect(jobs(manifestOf([promptTask({ output })]))[0]).toMatchObject({
      output_offload_threshold_bytes: bytes,
    });
  });

  it("switches off what is rejected anyway, and says why a root reports to nobody", () => {
    const [job] = jobs(manifestOf([promptTask({ approval: { policy: "auto-reject" } })]));
    expect(job).toMatchObject({ enabled: 0, delivery_opt_out_reason: expect.any(String) });
  });

  it.each<[string, Readonly<Record<string, unknown>>, string, string]>([
    [
      "a name that is too long",
      promptTask({ name: "n".repeat(200) }),
      "name",
      "compiled openclaw-scheduler name exceeds max length of 200",
    ],
    [
      "the sentinel on a root",
      promptTask({ schedule: { cron: "0 0 31 2 *" } }),
      "schedule.cron",
      "schedule_cron cannot use the reserved at-job sentinel for root cron jobs",
    ],
    [
      "a credential",
      shellTask("x", [], { shell: { env: { API_TOKEN: "t" } } }),
      "shell.env.API_TOKEN",
      "would be stored in the scheduler's database; use identity.presentation",
    ],
    [
      "a payload that its target does not take",
      promptTask({ target: { session_target: "main", payload_kind: "agentTurn" } }),
      "target.payload_kind",
      "must be one of: systemEvent",
    ],
    [
      "more JSON than it keeps",
      promptTask({ contract: { allowed_paths: ["/漢".repeat(9_000)] } }),
      "contract_allowed_paths",
      "compiled openclaw-scheduler contract_allowed_paths exceeds 32768 bytes",
    ],
  ])("refuses %s", async (_, task, field, message) => {
    const manifest = manifestOf([task]);
    const { error } = await call("agentcli.compile", { manifest, target: "openclaw-scheduler" });
    expect(error).toMatchObject({
      code: -32602,
      data: {
        code: "validation_error",
        validation: { errors: [{ path: `$.workflows[0].tasks[0].${field}`, message }] },
      },
    });
  });
});

describe("the target agtp", () => {
  it("shows the endpoints that a daemon would register", () => {
    const { endpoints } = compile("agtp", manifestOf([shellTask("df", ["-h"])])) as unknown as {
      endpoints: readonly Json[];
    };
    expect(endpoints).toMatchObject([
      {
        ...{ method: "EXECUTE", path: "/workflows/wf:w1/task:t1" },
        semantic: { impact: "irreversible", is_idempotent: false },
        input_schema: { properties: { dry_run: { type: "boolean" } }, additionalProperties: false },
        handler: { type: "registered_function" },
      },
    ]);
    // The program is the manifest's business, not the caller's.
    expect(JSON.stringify(endpoints)).not.toContain('"df"');
  });

  it("says of each task whether it would be served, and what it would take", () => {
    const after = { schedule: undefined, trigger: { parent: "t1", on: "success", delay_s: 5 } };
    const tasks = [
      shellTask("a", []),
      shellTask("b", [], { id: "off", enabled: false }),
      shellTask("c", [], { id: "held", contract: { sandbox: "strict" } }),
      promptTask({ id: "asked", ...after }),
      promptTask({ id: "proven", evidence: { ref: "s", verify: { required: true } } }),
    ];
    const evidence_profiles = [{ id: "s", provider: "ssh" }];
    const manifest = manifestOf(tasks, { evidence_profiles });
    const { endpoints, explain } = compile("agtp", manifest) as unknown as {
      endpoints: readonly { path: string }[];
      explain: readonly { notes: readonly string[] }[];
    };
    expect(endpoints.map(({ path }) => path.split(":").at(-1))).toEqual([
      ...["t1", "held", "asked", "proven"],
    ]);
    expect(explain.map(({ notes }) => notes.join(" "))).toEqual([
      expect.stringMatching(
        /runs it on demand, once its workflow is listed in \[agentcli\] expose\./,
      ),
      "It is not enabled, and so it is no endpoint.",
      expect.stringContaining('refuses every run: its contract\'s sandbox "strict"'),
      expect.stringMatching(/prompt_runtime is configured.*5 s later .* a scheduler's business/),
      expect.stringContaining("refuses every run: it must give evidence, and of a prompt there is"),
    ]);
  });

  it("is listed with the others", async () => {
    const { result } = await call("agentcli.describe", { target: "targets" });
    const items = result?.["description"]?.["items"] as unknown as readonly { name: string }[];
    expect(items.map(({ name }) => name)).toEqual(["standalone", "openclaw-scheduler", "agtp"]);
  });
});
