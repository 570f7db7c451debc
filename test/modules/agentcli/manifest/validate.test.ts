import { Ajv2020 } from "ajv/dist/2020.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { validateManifest } from "../../../../src/modules/agentcli/manifest/validate.ts";
import { findSchema } from "../../../../src/modules/agentcli/methods/schemas.ts";
import { manifestOf, promptTask, shellTask } from "../../../support/agentcli.ts";

const TASK = "$.workflows[0].tasks[0]";

function errorsOf(manifest: unknown): readonly string[] {
  return validateManifest(manifest).errors.map(({ path, message }) => `${path} ${message}`);
}

function taskErrors(members: Readonly<Record<string, unknown>>): readonly string[] {
  return errorsOf(manifestOf([promptTask(members)])).map((line) => line.replace(TASK, "T"));
}

// agentcli spec "Validation"
describe("validateManifest", () => {
  it.each([
    [null, ["$ manifest must be an object"]],
    [[], ["$ manifest must be an object"]],
    [{}, ["$.version must be one of: 0.1, 0.2", "$.workflows must be a non-empty array"]],
    [{ version: "0.2", workflows: [5] }, ["$.workflows[0] must be an object"]],
    [
      { version: "0.1", workflows: [{}] },
      [
        "$.workflows[0].id is required",
        "$.workflows[0].name is required",
        "$.workflows[0].tasks must be a non-empty array",
      ],
    ],
  ])("says what is wrong with %j", (manifest, errors) => {
    expect(errorsOf(manifest)).toEqual(errors);
  });

  it.each<[string, Readonly<Record<string, unknown>>, readonly string[]]>([
    ["an empty text once", { name: "" }, ["T.name cannot be empty"]],
    ["a text that is none", { name: 5 }, ["T.name must be a string"]],
    ["control characters", { name: "a\u0007" }, ["T.name contains unsupported control characters"]],
    ["an id with a space", { id: "a b" }, ["T.id must match /^[A-Za-z0-9][A-Za-z0-9._-]*$/"]],
    [
      "a token with a space",
      { target: { session_target: "main", agent_id: "a b" } },
      ["T.target.agent_id contains unsupported path or token characters"],
    ],
    ["a missing target", { target: undefined }, ["T.target must be an object"]],
    [
      "an unknown target",
      { target: { session_target: "x" } },
      ["T.target.session_target must be one of: main, isolated, shell"],
    ],
    [
      "a command",
      { command: "ls" },
      ["T.command is not supported; use shell.program and shell.args"],
    ],
    [
      "a shell that is not wanted",
      { shell: { program: "ls" } },
      ["T.shell must not be present unless target.session_target is shell"],
    ],
    [
      "neither schedule nor trigger",
      { schedule: undefined },
      ["T must define exactly one of schedule or trigger"],
    ],
    [
      "both",
      { trigger: { parent: "x", on: "success" } },
      [
        "T must define exactly one of schedule or trigger",
        "T.trigger.parent must reference another task id in the same workflow",
      ],
    ],
    [
      "itself as parent",
      { schedule: undefined, trigger: { parent: "t1", on: "success" } },
      ["T.trigger.parent must not reference its own task id"],
    ],
    ["a schedule of the wrong type", { schedule: "daily" }, ["T.schedule must be an object"]],
    ["a block of the wrong type", { runtime: "fast" }, ["T.runtime must be an object"]],
    ["a list for a block", { contract: [] }, ["T.contract must be an object"]],
    [
      "a number that is too small",
      { output: { preview_bytes: 63 } },
      ["T.output.preview_bytes must be an integer >= 64"],
    ],
    [
      "a cost that is negative",
      { contract: { max_cost_usd: -1 } },
      ["T.contract.max_cost_usd must be a number >= 0"],
    ],
    ["a flag that is none", { enabled: "yes" }, ["T.enabled must be a boolean"]],
    [
      "an announcement to nobody",
      { delivery: { mode: "announce" } },
      ['T.delivery.to is required when delivery.mode is "announce" or "announce-always"'],
    ],
    [
      "an empty recipient once",
      { delivery: { mode: "announce", to: "" } },
      ["T.delivery.to cannot be empty"],
    ],
    [
      "a check without a command",
      { verify: { timeout_seconds: 0 } },
      [
        "T.verify.shell is required and must be a non-empty string",
        "T.verify.timeout_seconds must be an integer >= 1",
      ],
    ],
    [
      "a path list with a number",
      { contract: { allowed_paths: ["/a", 5] } },
      ["T.contract.allowed_paths[1] must be a string"],
    ],
    [
      "a reference to nothing",
      { identity: { ref: "x" } },
      ['T.identity.ref references unknown identity profile "x"'],
    ],
  ])("reports %s", (_, members, errors) => {
    expect(taskErrors(members)).toEqual(errors);
  });

  it.each([
    ["x", "must start with contains: or regex:"],
    ["contains:", "contains trigger condition cannot be empty"],
    ["regex: ", "regex trigger condition cannot be empty"],
  ])("reports the condition %j", (condition, message) => {
    const child = promptTask({
      ...{ id: "t2", schedule: undefined },
      trigger: { parent: "t1", on: "success", condition },
    });
    const path = "$.workflows[0].tasks[1].trigger.condition";
    expect(errorsOf(manifestOf([promptTask(), child]))).toEqual([`${path} ${message}`]);
  });

  it("quotes the engine about a bad expression", () => {
    const child = promptTask({
      ...{ id: "t2", schedule: undefined },
      trigger: { parent: "t1", on: "success", condition: "regex:(" },
    });
    expect(errorsOf(manifestOf([promptTask(), child]))[0]).toMatch(/condition invalid regex: ./);
  });

  it("checks programs, arguments and variables of shell tasks", () => {
    const task = shellTask("l s", ["", "b"], { shell: { env: { "1A": "x", B: "" }, stdin: 5 } });
    expect(errorsOf(manifestOf([task])).map((line) => line.replace(TASK, "T"))).toEqual([
      "T.shell.program contains unsupported path or token characters",
      "T.shell.args[0] cannot be empty",
      "T.shell.env.1A must match /^[A-Za-z_][A-Za-z0-9_]*$/",
      "T.shell.env.B cannot be empty",
      "T.shell.stdin must be a string",
    ]);
    expect(taskErrors({ target: { session_target: "shell" } })).toEqual([
      "T.prompt must not be present for shell targets",
      "T.shell is required",
    ]);
  });

  it("knows ids that come twice, also when shorthand is written out", () => {
    const failing = promptTask({ on_failure: { id: "t2", prompt: "look" } });
    expect(errorsOf(manifestOf([failing, promptTask({ id: "t2" })]))).toEqual([
      "$.workflows[0].tasks[1].id must be unique after shorthand expansion",
    ]);
    expect(errorsOf(manifestOf([promptTask(), promptTask()]))).toEqual([
      "$.workflows[0].tasks[1].id must be unique within the workflow",
      "$.workflows[0].tasks[1].id must be unique after shorthand expansion",
    ]);
  });

  it("refuses unknown keys of 0.2 at every level, and leaves the author's own maps alone", () => {
    const bad = promptTask({
      approval: { polciy: "manual" },
      contract: { sandbxo: "strict" },
      identity: { subject: { pricipal: "operator" } },
    });
    const errors = errorsOf(manifestOf([bad])).map((line) => line.replace(TASK, "T"));
    expect(errors).toEqual([
      'T.approval.polciy unknown key "polciy" is not allowed in a v0.2 manifest',
      'T.contract.sandbxo unknown key "sandbxo" is not allowed in a v0.2 manifest',
      'T.identity.subject.pricipal unknown key "pricipal" is not allowed in a v0.2 manifest',
    ]);
    const open = manifestOf([promptTask()], {
      identity_profiles: [
        {
          ...{ id: "i", provider: "env-bearer", provider_config: { token_env: "T" } },
          subject: { attributes: { team: "platform" } },
          auth: { inputs: { c: { value_from: { env: "C" } } } },
        },
      ],
      authorization_proof_profiles: [{ id: "p", method: "none", claims: { custom: { a: 1 } } }],
      workflow: { identity: { ref: "i" }, authorization_proof: { ref: "p", claims: { b: 1 } } },
    });
    expect(errorsOf(open)).toEqual([]);
  });

  it("only warns of unknown keys of 0.1, and only outside", () => {
    const manifest = manifestOf([promptTask({ colour: "red", contract: { x: 1 } })], {
      version: "0.1",
      extra: 1,
    });
    const { ok, warnings } = validateManifest(manifest);
    expect(ok).toBe(true);
    expect(warnings).toEqual([
      { path: "$.extra", message: 'unknown key "extra"' },
      { path: `${TASK}.colour`, message: 'unknown key "colour"' },
    ]);
  });

  it("refuses providers that this program does not have", () => {
    const manifest = manifestOf([promptTask()], {
      identity_profiles: [{ id: "a", provider: "aws-sts-assume-role" }],
      authorization_proof_profiles: [{ id: "b", method: "certificate" }],
      authorization_profiles: [{ id: "c", provider: "topaz" }],
      evidence_profiles: [{ id: "d", provider: "kms" }],
    });
    expect(errorsOf(manifest)).toEqual([
      '$.identity_profiles[0].provider unknown identity provider "aws-sts-assume-role"',
      '$.authorization_proof_profiles[0].method unknown authorization proof verifier "certificate"',
      '$.authorization_profiles[0].provider unknown authorization provider "topaz"',
      '$.evidence_profiles[0].provider unknown evidence provider "kms"',
    ]);
  });

  it("takes an identity of either form, and of both no field that would not count", () => {
    const errors = (identity: object) => errorsOf(manifestOf([promptTask({ identity })]));
    expect(errors({ principal: "ops", run_as: null })).toEqual([]);
    expect(errors({ ref: null, scope: null, subject: { principal: "ops" } })).toEqual([]);
    expect(errors({ scope: null, trust: null })).toEqual([]);
    expect(errors({ subject: { kind: "agent" }, principal: "ops" })).toEqual([
      '$.workflows[0].tasks[0].identity.principal unknown key "principal" is not allowed in a v0.2 manifest',
    ]);
  });

  it("refuses files and variables that nothing can be presented in", () => {
    const targets = [
      { prefix: "agentcli-credential", expose_as: "CREDENTIAL_FILE" },
      { prefix: "../escape", expose_as: "not-valid" },
      { prefix: "p".repeat(81) },
    ];
    const bindings = targets.map((members) => {
      return { source: "provider", target: { kind: "file", ...members } };
    });
    const manifest = manifestOf([promptTask()], {
      identity_profiles: [{ id: "a", provider: "none", presentation: { bindings } }],
    });
    const place = "$.identity_profiles[0].presentation.bindings";
    const prefix = "must be a safe file prefix of at most 80 characters";
    expect(errorsOf(manifest)).toEqual([
      `${place}[1].target.prefix ${prefix}`,
      `${place}[1].target.expose_as must be a valid environment variable name`,
      `${place}[2].target.prefix ${prefix}`,
    ]);
  });

  it("refuses profiles that their providers cannot work with", () => {
    const manifest = manifestOf([promptTask()], {
      identity_profiles: [
        { id: "a", provider: "env-bearer" },
        { id: "b", provider: "file-bearer" },
      ],
      authorization_proof_profiles: [
        { id: "c", method: "none", verify: { required: true } },
        {
          id: "d",
          method: "jwt",
          jwks_uri: "http://x.example",
          proof: { value_from: { env: "P" } },
        },
        { id: "e", method: "jwt", public_key: "nope", proof: { value_from: { literal: "x" } } },
      ],
      authorization_profiles: [{ id: "f", provider: "opa", provider_config: { endpoint: " " } }],
    });
    expect(errorsOf(manifest)).toEqual([
      "$.authorization_proof_profiles[2].proof.value_from.literal is not supported here",
      "$.authorization_proof_profiles[2].proof.value_from must include at least one of: env, file, or command",
      "$.identity_profiles[0].auth.provider_config.token_env must name the environment variable with the token",
      "$.identity_profiles[1].auth.provider_config.token_file must name the file with the token",
      '$.authorization_proof_profiles[0].verify.required method "none" cannot satisfy verify.required: true',
      "$.authorization_proof_profiles[1].jwks_uri must use HTTPS",
      "$.authorization_proof_profiles[2].public_key must be a PEM public key",
      "$.authorization_profiles[0].provider_config.endpoint provider_config.endpoint must be a non-empty string",
    ]);
  });

  it("refuses a task that must give evidence and has nothing that gives any, whoever says so", () => {
    const verify = { required: true };
    const manifest = manifestOf(
      [
        promptTask({ evidence: { ref: "e" } }),
        promptTask({ id: "t2", evidence: { ref: "s" }, on_failure: { prompt: "p" } }),
        promptTask({ id: "t3", evidence: { ref: "e", verify } }),
      ],
      {
        evidence_profiles: [
          { id: "e", provider: "none" },
          { id: "s", provider: "ssh" },
        ],
        workflow: { evidence: { verify } },
      },
    );
    const workflow = "$.workflows[0]";
    expect(errorsOf(manifest)).toEqual([
      `${workflow}.evidence.verify.required provider "none" cannot satisfy verify.required: true`,
      `${workflow}.evidence.verify.required no profile cannot satisfy verify.required: true`,
      `${workflow}.tasks[2].evidence.verify.required provider "none" cannot satisfy verify.required: true`,
    ]);
    const own = manifestOf([promptTask({ evidence: { ref: "s" } })], {
      evidence_profiles: [{ id: "s", provider: "ssh" }],
      workflow: { evidence: { verify } },
    });
    expect(errorsOf(own)).toEqual([]);
  });

  it("refuses settings that no provider reads, wherever they stand", () => {
    const manifest = manifestOf(
      [promptTask({ authorization: { ref: "z", provider_config: { timout: 1 } } })],
      {
        identity_profiles: [
          { id: "i", provider: "none", provider_config: { vendor: true } },
          {
            id: "e",
            provider: "env-bearer",
            auth: { provider_config: { token_env: "T", tokn: "U" } },
          },
        ],
        authorization_profiles: [
          {
            id: "z",
            provider: "opa",
            provider_config: { endpoint: "http://127.0.0.1", path: "x" },
          },
        ],
        evidence_profiles: [{ id: "s", provider: "ssh", provider_config: { key: "k" } }],
        workflow: { identity: { ref: "e", auth: { provider_config: { region: "eu" } } } },
      },
    );
    const unknown = (path: string, key: string, known: string) =>
      `$.${path}.${key} unknown provider_config key "${key}", ${known}`;
    const [T, Z] = ["one of: token_env", "one of: endpoint"];
    expect(errorsOf(manifest)).toEqual([
      unknown("identity_profiles[0].provider_config", "vendor", "this provider has none"),
      unknown("identity_profiles[1].auth.provider_config", "tokn", T),
      unknown("authorization_profiles[0].provider_config", "path", Z),
      unknown("evidence_profiles[0].provider_config", "key", "one of: signing_key, key_path"),
      unknown("workflows[0].identity.auth.provider_config", "region", T),
      unknown("workflows[0].tasks[0].authorization.provider_config", "timout", Z),
    ]);
  });

  it("refuses modes and handoffs that the provider does not have, where they are said", () => {
    const token = { provider_config: { token_env: "T" } };
    const manifest = manifestOf(
      [
        promptTask({ identity: { auth: { mode: "service" } } }),
        promptTask({ id: "t2", identity: { auth: { mode: "on-behalf-of" } } }),
        promptTask({ id: "t3" }),
      ],
      {
        identity_profiles: [
          { id: "i", provider: "env-bearer", auth: { ...token, mode: "service" } },
        ],
        workflow: {
          identity: {
            ref: "i",
            auth: { mode: "impersonation" },
            presentation: { handoff: "transaction-token" },
          },
        },
      },
    );
    expect(errorsOf(manifest)).toEqual([
      '$.workflows[0].identity.auth.mode cannot do "impersonation", only: service',
      '$.workflows[0].identity.presentation.handoff cannot do "transaction-token", only: none',
      '$.workflows[0].tasks[1].identity.auth.mode cannot do "on-behalf-of", only: service',
    ]);
  });

  it("refuses a contract that asks for more trust than its identity may have", () => {
    const trust = { constraints: { max_autonomy: "restricted" } };
    const manifest = manifestOf([promptTask(), promptTask({ id: "t2" })], {
      identity_profiles: [{ id: "i", provider: "none", trust }],
      workflow: { identity: { ref: "i" }, contract: { required_trust_level: "autonomous" } },
    });
    expect(errorsOf(manifest)).toEqual([
      '$.workflows[0].contract.required_trust_level must not exceed resolved identity max_autonomy "restricted"',
    ]);
  });

  it("warns of what is odd", () => {
    const task = shellTask("ls", [], {
      approval: { policy: "manual", required: true },
      intent: { mode: "plan" },
      context: { limit: 3 },
      budgets: { max_context_items: 4 },
    });
    const { ok, warnings } = validateManifest(manifestOf([task]));
    expect(ok).toBe(true);
    expect(warnings.map(({ path }) => path.replace(TASK, "T"))).toEqual([
      ...["T.approval", "T.context.limit", "T.intent", "T.approval.required"],
    ]);
  });

  it("refuses what no digest can be taken of, wherever it stands", () => {
    const max_cost_usd = JSON.parse("1e999");
    expect(taskErrors({ contract: { max_cost_usd } })).toEqual([
      "T.contract.max_cost_usd must be within double precision",
    ]);
    expect(errorsOf(manifestOf([shellTask("echo", ["a", "\ud800"])]))).toEqual([
      `${TASK}.shell.args[1] contains half of a surrogate pair`,
    ]);
    const claims = { deep: [{ most: Number.NEGATIVE_INFINITY }], "a\udfff": 1 };
    const profiles = { authorization_proof_profiles: [{ id: "n", claims }] };
    expect(errorsOf(manifestOf([promptTask()], profiles))).toEqual([
      "$.authorization_proof_profiles[0].claims.deep[0].most must be within double precision",
      "$.authorization_proof_profiles[0].claims.a\udfff contains half of a surrogate pair",
    ]);
    // A field that is refused is told of once, in its own words.
    expect(taskErrors({ runtime: { timeout_ms: max_cost_usd } })).toEqual([
      "T.runtime.timeout_ms must be an integer >= 1",
    ]);
  });

  it("lists a bounded number of findings", () => {
    const { ok, errors } = validateManifest({ version: "0.2", workflows: Array(100_000).fill(0) });
    expect(ok).toBe(false);
    expect(errors).toHaveLength(1001);
  });

  it("takes names of every object for ordinary keys", () => {
    const manifest: unknown = JSON.parse(
      '{"version":"0.2","__proto__":{"x":1},"workflows":[{"id":"__proto__","name":"W","constructor":1,"tasks":[]}]}',
    );
    expect(errorsOf(manifest)).toEqual([
      "$.workflows[0].id must match /^[A-Za-z0-9][A-Za-z0-9._-]*$/",
      "$.workflows[0].tasks must be a non-empty array",
      '$.__proto__ unknown key "__proto__" is not allowed in a v0.2 manifest',
      '$.workflows[0].constructor unknown key "constructor" is not allowed in a v0.2 manifest',
    ]);
    expect(({} as Record<string, unknown>)["x"]).toBeUndefined();
  });

  it("throws for no JSON value", () => {
    fc.assert(fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => void validateManifest(value)));
    const odd = fc.record({
      version: fc.constantFrom("0.1", "0.2"),
      identity_profiles: fc.jsonValue(),
      workflows: fc.array(
        fc.record({
          id: fc.jsonValue(),
          tasks: fc.array(
            fc.dictionary(
              fc.constantFrom(
                "id",
                "target",
                "shell",
                "trigger",
                "on_failure",
                "identity",
                "contract",
                "verify",
                "delivery",
              ),
              fc.jsonValue({ maxDepth: 3 }),
            ),
          ),
        }),
      ),
    });
    fc.assert(fc.property(odd, (value) => void validateManifest(value)));
    const tasks = [{ id: { toString: null }, on_failure: {} }];
    expect(() => validateManifest({ version: "0.1", workflows: [{ tasks }] })).not.toThrow();
  });
});

// agentcli protocol "agentcli.schema"
describe("the schema of manifests", () => {
  const ajv = new Ajv2020({ strict: false });
  const check = ajv.compile(findSchema("manifest", false) ?? false);

  const good = [
    manifestOf([promptTask()]),
    manifestOf([promptTask({ identity: null, runtime: null })], { version: "0.1" }),
    manifestOf([shellTask("df", ["-h"], { shell: { env: { A: "b" }, stdin: "" } })]),
    manifestOf([promptTask({ on_failure: { shell: { program: "ls" } } })]),
    manifestOf([promptTask({ identity: { principal: "a", run_as: "b" } })]),
  ];
  const bad = [
    manifestOf([]),
    manifestOf([promptTask({ colour: 1 })]),
    manifestOf([promptTask({ name: " " })]),
    manifestOf([promptTask({ schedule: undefined })]),
    manifestOf([promptTask({ command: "ls" })]),
    manifestOf([promptTask({ shell: { program: "ls" } })]),
    manifestOf([shellTask("a b", [])]),
    manifestOf([promptTask({ output: { preview_bytes: 1 } })]),
    manifestOf([promptTask({ identity: { subject: { kind: "x" } } })]),
  ];

  it.each(good)("accepts what validation accepts: %j", (manifest) => {
    expect(validateManifest(manifest).errors).toEqual([]);
    expect(check(manifest), JSON.stringify(check.errors)).toBe(true);
  });

  it.each(bad)("refuses what validation refuses: %j", (manifest) => {
    expect(validateManifest(manifest).ok).toBe(false);
    expect(check(manifest)).toBe(false);
  });

  it.each([
    "workflow",
    "task",
    "schedulerJob",
    "standalonePlan",
    "rpcRequest",
    "rpcResponse",
    "scheduler-job",
    "standalone-plan",
    "rpc-request",
    "rpc-response",
  ])("has %s in both forms", (target) => {
    const schema = findSchema(target, false);
    expect(schema?.["$schema"]).toBe("https://json-schema.org/draft/2020-12/schema");
    expect(() => ajv.compile({ ...schema })).not.toThrow();
    expect(findSchema(target, true)).toMatchObject({ type: "object", fields: {} });
  });

  it("has the version as a constant in the descriptors of old", () => {
    expect(findSchema("manifest", true)).toMatchObject({ fields: { version: { const: "0.2" } } });
  });
});
