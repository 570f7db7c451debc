import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { open as openFile } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { formatProblem } from "../../src/base/problem.ts";
import { canonicalDigest } from "../../src/identity/canonical-form.ts";
import { manifestOf, promptTask, shellTask } from "../support/agentcli.ts";
import { MAYA, openAcp, openHosted } from "../support/agntcy.ts";
import { openDaemon } from "../support/daemon.ts";
import {
  agentFile,
  configFile,
  type DeploymentFiles,
  endpointFile,
} from "../support/deployment.ts";
import { makeDirectory } from "../support/directory.ts";
import { encodeRequest, openServer, type TestReply, type TestServer } from "../support/dispatch.ts";
import { AGENT } from "../support/genesis.ts";
import { makeCertificate } from "../support/hosted-agents.ts";
import { PATIENCE } from "../support/patience.ts";

type Members = Readonly<Record<string, unknown>>;

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);
const CAROL = "c".repeat(64);
const operator = makeCertificate({ key: AGENT });
const ENV = { PATH: process.env["PATH"] ?? "" };

function files(
  manifest: unknown,
  agentcli: Members = {},
  tables: Record<string, object> = {},
): DeploymentFiles {
  return {
    "agtp-server.toml": configFile({
      agentcli: { manifests: ["agents/agentcli/m.json"], expose: ["w1"], ...agentcli },
      policies: { identity: { operator_certificates: [operator.spkiFingerprint] } },
      ...tables,
    }),
    "agents/agentcli/m.json": typeof manifest === "string" ? manifest : JSON.stringify(manifest),
    "endpoints/.keep": "",
    "agents/alice.agent.json": agentFile({ agent_id: ALICE, name: "alice", trust_tier: 2 }),
    "agents/bob.agent.json": agentFile({ agent_id: BOB, name: "bob", trust_tier: 3 }),
    "agents/carol.agent.json": agentFile({
      ...{ agent_id: CAROL, name: "carol", scopes_accepted: ["ops:approve"] },
    }),
  };
}

function open(tasks: readonly Members[], more: Members = {}, agentcli: Members = {}) {
  return openServer(files(manifestOf(tasks, more), agentcli), { env: ENV, isClean: false });
}

function run(
  server: TestServer,
  body: unknown = {},
  agent = ALICE,
  task = "t1",
): Promise<TestReply> {
  return server.send({
    ...{ method: "EXECUTE", path: `/workflows/wf:w1/task:${task}`, body },
    headers: { "Agent-ID": agent },
  });
}

function confirm(server: TestServer, id: unknown, status = "accepted", agent?: string) {
  const request = { method: "CONFIRM", body: { target_id: id, status } };
  return agent === undefined
    ? server.send(request, { certificate: operator })
    : server.send({ ...request, headers: { "Agent-ID": agent } });
}

describe("exposed workflows", () => {
  it("become endpoints that everybody can find, with nothing for a caller to say", async () => {
    const server = await open([shellTask("echo", ["hi", "$HOME; id"])]);
    const reply = await run(server);
    expect(reply.status).toBe(200);
    expect(reply.body).toMatchObject({
      ok: true,
      execution_id: expect.any(String),
      source: { workflow_id: "w1", task_id: "t1" },
      declared_identity: { provider: "none" },
      principal_used: "agtpd@test",
      contract: { sandbox: null },
      result: {
        ...{ exit_code: 0, signal: null, timed_out: false, truncated: false },
        ...{ stdout: "hi $HOME; id\n", stderr: "", stdout_bytes: 13, stderr_bytes: 0 },
        output_hash: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      },
      handoff: { mode: "none", prepared: false },
      warnings: [],
      audited: true,
    });
    const { result, hashes } = reply.body as Record<string, Record<string, unknown>>;
    const digest = expect.stringMatching(/^sha256:[0-9a-f]{64}$/);
    expect(hashes).toEqual({ command: digest, result: result?.["output_hash"] });
    expect((await run(server)).body).toMatchObject({ hashes });
    const { body } = await server.send({ method: "DISCOVER", path: "/methods" });
    expect(body).toContainEqual(
      expect.objectContaining({ method: "EXECUTE", path: "/workflows/wf:w1/task:t1", tier: "B" }),
    );
    for (const input of [{ args: ["x"] }, { program: "id" }, { dry_run: "yes" }]) {
      expect((await run(server, input)).status).toBe(422);
    }
  });

  it.each([
    ["none", [false, false]],
    ["on-failure", [false, true]],
    ["always", [true, true]],
  ])("say of each run whether it is audited, by contract.audit %s", async (audit, expected) => {
    const tasks = [
      shellTask("true", [], { id: "works", contract: { audit } }),
      shellTask("false", [], { id: "fails", contract: { audit } }),
    ];
    const server = await open(tasks);
    const bodies: object[] = [];
    for (const id of ["works", "fails"])
      bodies.push((await run(server, {}, ALICE, id)).body as object);
    expect(bodies).toMatchObject(expected.map((audited) => ({ audited })));
  });

  it("are agents of the server, under the same Agent-ID after a restart", async () => {
    const manifest = manifestOf([shellTask("true", [])]);
    const identitiesOf = async (server: TestServer) => {
      const { text } = await server.send({ method: "DISCOVER", path: "/agents" });
      const agents: readonly { name: string; agent_id: string }[] = JSON.parse(text);
      return agents.filter(({ name }) => name === "agentcli/w1").map(({ agent_id }) => agent_id);
    };
    const first = await openServer(files(manifest), { env: ENV });
    const [agentId, ...others] = await identitiesOf(first);
    expect([agentId, others]).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/), []]);
    const second = await openServer(files(manifest), { env: ENV, state: first.state });
    expect(await identitiesOf(second)).toEqual([agentId]);
  });

  it("are none until they are listed, and their tasks are nobody's without an Agent-ID", async () => {
    const hidden = await open([shellTask("echo", [])], {}, { expose: [] });
    expect((await run(hidden)).status).toBe(404);
    const server = await open([shellTask("echo", [])]);
    const path = "/workflows/wf:w1/task:t1";
    expect((await server.send({ method: "EXECUTE", path, body: {} })).status).toBe(262);
    expect((await run(server, {}, "d".repeat(64))).status).toBe(401);
  });

  it("keep ids that are names of methods apart from methods", async () => {
    const server = await open([shellTask("echo", ["ok"], { id: "deploy" })]);
    expect((await run(server, {}, ALICE, "deploy")).status).toBe(200);
  });

  it("say what is wrong with them, and the server serves the rest", async () => {
    const problemsOf = async (manifest: unknown, agentcli: Members = {}) => {
      const server = await openServer(files(manifest, agentcli), { isClean: false });
      return server.problems.map(formatProblem);
    };
    const good = manifestOf([shellTask("echo", [])]);
    expect(await problemsOf(good)).toEqual([]);
    const file = "agents/agentcli/m.json";
    expect(await problemsOf("{")).toEqual([
      expect.stringMatching(/^agents\/agentcli\/m\.json: must be JSON/),
      'agtp-server.toml: agentcli.expose[0]: no manifest that could be loaded has a workflow "w1"',
    ]);
    const twice = JSON.stringify(good).replace('"shell":', '"shell":{"program":"true"},"shell":');
    expect(await problemsOf(twice)).toContain(
      `${file}: must not have the member "shell" twice in one object`,
    );
    expect(await problemsOf(`${JSON.stringify(good)}${" ".repeat(1_048_576)}`)).toContainEqual(
      expect.stringMatching(/m\.json: must be at most 1048576 bytes long/),
    );
    expect(await problemsOf(manifestOf([shellTask("a b", [])]))).toContain(
      `${file}: workflows[0].tasks[0].shell.program: contains unsupported path or token characters`,
    );
    expect(await problemsOf(good, { expose: ["w2"] })).toEqual([
      expect.stringMatching(/expose\[0\].*"w2"/),
    ]);
    expect(await problemsOf(good, { manifests: [file, file] })).toContain(
      `${file}: workflows: workflow "w1" is in ${file} already`,
    );
    expect(
      await problemsOf(
        manifestOf([promptTask(), shellTask("x", [], { id: "t2", enabled: false })]),
      ),
    ).toEqual([
      `${file}: workflows: task "t1" of workflow "w1" is not served: it is a prompt, and no prompt_runtime is configured`,
      `${file}: workflows: task "t2" of workflow "w1" is not served: it is not enabled`,
    ]);
    const refusing = manifestOf(
      [
        promptTask({ evidence: { ref: "s", verify: { required: true } } }),
        shellTask("x", [], { id: "t2", contract: { sandbox: "strict" } }),
        shellTask("x", [], {
          id: "t3",
          authorization_proof: { ref: "n", verify: { required: true } },
        }),
      ],
      {
        evidence_profiles: [{ id: "s", provider: "ssh" }],
        authorization_proof_profiles: [{ id: "n" }],
      },
    );
    const said = `${file}: workflows: task "t1" of workflow "w1" refuses every run`;
    expect(await problemsOf(refusing, { prompt_runtime: "agntcy:/mail" })).toEqual(
      expect.arrayContaining([
        `${said}: it must give evidence, and of a prompt there is none`,
        `${said.replace("t1", "t2")}: its contract's sandbox "strict" cannot be enforced`,
        `${said.replace("t1", "t3")}: it must give an authorization proof, and method "none" verifies none`,
      ]),
    );
  });

  it("run nothing when they are asked what they would run", async () => {
    const server = await open([
      shellTask("touch", ["owned"], { shell: { env: { A: "secret-value" } } }),
      shellTask("touch", ["owned"], { id: "t2", intent: { mode: "plan" } }),
    ]);
    const preview = await run(server, { dry_run: true });
    expect(preview.body).toMatchObject({
      ...{ ok: true, dry_run: true },
      command: { program: "touch", argument_count: 1, env: ["A"] },
      task_hash: expect.stringMatching(/^sha256:/),
    });
    expect(preview.text).not.toMatch(/owned|secret-value/);
    expect((await run(server, {}, ALICE, "t2")).body).toMatchObject({ dry_run: true });
    expect(existsSync(join(server.directory, "owned"))).toBe(false);
  });
});

describe("a run", () => {
  it("reports what has failed, timed out and could not be started", async () => {
    const server = await open([
      shellTask("sh", ["-c", "echo no >&2; exit 3"]),
      shellTask("sleep", ["60"], { id: "t2", runtime: { timeout_ms: 50 } }),
      shellTask("no-such-program", [], { id: "t3" }),
    ]);
    expect((await run(server)).body).toMatchObject({
      ...{ ok: false, result: { exit_code: 3, stderr: "no\n" } },
    });
    expect((await run(server, {}, ALICE, "t2")).body).toMatchObject({
      ...{ ok: false, result: { exit_code: null, timed_out: true } },
    });
    const missing = await run(server, {}, ALICE, "t3");
    expect(missing.status).toBe(422);
    expect(missing.body).toMatchObject({ error: { code: "task_not_started" } });
    expect(server.faults).toEqual([]);
  });

  it("has the environment and input of the manifest, and nothing of the daemon's", async () => {
    const script = "cat; env | sort | grep -v -e ^PATH= -e ^PWD= -e ^SHLVL= -e ^_=";
    const task = shellTask("sh", ["-c", script], { shell: { env: { OWN: "1" }, stdin: "in\n" } });
    const server = await openServer(files(manifestOf([task])), {
      env: { ...ENV, DAEMON_TOKEN: "daemon-secret", OTHER: "x" },
    });
    const { body } = await run(server);
    expect(body["result"]).toMatchObject({ stdout: "in\nOWN=1\n" });
  });

  it("presents credentials to the program and to nobody else", async () => {
    const members = {
      identity_profiles: [
        {
          ...{ id: "p", provider: "env-bearer", subject: { principal: "agent://acme/bot" } },
          auth: { provider_config: { token_env: "BOT_TOKEN" } },
          presentation: {
            bindings: [
              { source: "credentials.access_token.value", target: { kind: "env", name: "API" } },
              {
                source: "credentials.access_token.value",
                target: { kind: "file", name: "API_FILE" },
              },
            ],
          },
        },
      ],
      workflow: { identity: { ref: "p" } },
    };
    const script = 'test "$API" = "$(cat "$API_FILE")" && echo "same: $API $API_FILE"';
    const server = await openServer(files(manifestOf([shellTask("sh", ["-c", script])], members)), {
      env: { ...ENV, BOT_TOKEN: "bot-secret-token" },
    });
    const { body, text } = await run(server);
    expect(body).toMatchObject({ ok: true, principal_used: "agent://acme/bot" });
    const stdout = String(body["result"]?.["stdout"]);
    expect(stdout).toMatch(/^same: \[REDACTED\] \//);
    expect(existsSync(stdout.trim().split(" ")[2] ?? "")).toBe(false);
    expect(text).not.toContain("bot-secret-token");
    const without = await openServer(files(manifestOf([shellTask("true", [])], members)), {
      env: ENV,
    });
    const refused = await run(without);
    expect(refused.body).toMatchObject({
      error: { code: "identity_resolution_failed", details: { code: "token_not_found" } },
    });
    expect(refused.text).not.toContain("BOT_TOKEN");
  });

  it.each([
    ["on-success", "true", false],
    ["on-success", "false", true],
    ["never", "true", true],
  ])("leaves files as cleanup says: %s, after %s", async (cleanup, program, isLeft) => {
    const target = { kind: "file", name: "token", expose_as: "API_FILE" };
    const bindings = [{ source: "credentials.access_token.value", target }];
    const auth = { provider_config: { token_env: "BOT_TOKEN" } };
    const presentation = { bindings, cleanup };
    const members = {
      identity_profiles: [{ id: "p", provider: "env-bearer", auth, presentation }],
      workflow: { identity: { ref: "p" } },
    };
    const task = shellTask("sh", ["-c", `echo "$API_FILE"; ${program}`]);
    const server = await openServer(files(manifestOf([task], members)), {
      env: { ...ENV, BOT_TOKEN: "bot-secret-token" },
    });
    const { body } = await run(server);
    const file = String(body["result"]?.["stdout"]).trim();
    onTestFinished(() => rmSync(dirname(file), { recursive: true, force: true }));
    expect([basename(file), existsSync(file)]).toEqual(["token", isLeft]);
  });

  it("gives a task that follows the credentials that its policy leaves it", async () => {
    const token = { provider_config: { token_env: "BOT_TOKEN" } };
    const target = { kind: "env", name: "API" };
    const bindings = [{ source: "credentials.access_token.value", target }];
    const show = ["-c", 'echo "has $API"'];
    const child = (id: string, child_credential_policy: string) =>
      shellTask("sh", show, {
        ...{ id, child_credential_policy, schedule: undefined },
        trigger: { parent: "t1", on: "success" },
      });
    const profile = { id: "p", provider: "env-bearer", auth: token, presentation: { bindings } };
    const tasks = [shellTask("sh", show), child("bare", "none"), child("heir", "inherit")];
    const members = { identity_profiles: [profile], workflow: { identity: { ref: "p" } } };
    const server = await openServer(files(manifestOf(tasks, members)), {
      env: { ...ENV, BOT_TOKEN: "bot-secret-token" },
    });
    const { body } = await run(server);
    expect(body["result"]).toMatchObject({ stdout: "has [REDACTED]\n" });
    expect(body["children"]).toMatchObject([
      { task_id: "bare", result: { stdout: "has \n" } },
      { task_id: "heir", result: { stdout: "has [REDACTED]\n" } },
    ]);
  });

  it("parses output that says that it is JSON, and caps what is too long", async () => {
    const server = await open([
      shellTask("echo", ['{"a":1}'], { output: { format: "json" } }),
      shellTask("sh", ["-c", "head -c 200000 /dev/zero | tr '\\0' x"], {
        id: "t2",
        output: { format: "json" },
      }),
    ]);
    expect((await run(server)).body["result"]).toMatchObject({ structured: { a: 1 } });
    const { body } = await run(server, {}, ALICE, "t2");
    expect(body["result"]).toMatchObject({
      stdout: "x".repeat(65_536),
      stdout_bytes: 200_000,
      truncated: true,
    });
    expect(body["warnings"]).toEqual(["output.format is json, but the output was cut off"]);
  });

  it("is checked by the manifest's own shell command, and by nothing else in a shell", async () => {
    const server = await open([
      shellTask("touch", ["made"], { verify: { shell: "test -e made && test -e missing" } }),
      shellTask("true", [], { id: "t2", verify: { shell: "exit 4", on_failure: "warn" } }),
      shellTask("true", [], { id: "t3", verify: { shell: "test -e made" } }),
    ]);
    const failed = await run(server);
    expect(failed.body).toMatchObject({
      error: { code: "verify_failed", details: { result: { exit_code: 0 } } },
    });
    expect((await run(server, {}, ALICE, "t2")).body).toMatchObject({
      ...{ ok: true, warnings: ["verify ended with exit code 4"] },
    });
    expect((await run(server, {}, ALICE, "t3")).body).toMatchObject({ ok: true });
  });

  it.each([
    [
      "a check that fails",
      shellTask("echo", ["low"], { verify: { shell: "exit 4" } }),
      "verify_failed",
    ],
    ["a program that is not there", shellTask("/nonexistent/tool", []), "task_not_started"],
  ])("has its failure handled that is no exit code: %s", async (_, task, code) => {
    const handler = { shell: { program: "touch", args: ["handled"] }, condition: "regex:^(low)?" };
    const server = await open([
      { ...task, on_failure: handler },
      shellTask("touch", ["done"], {
        ...{ id: "next", schedule: undefined },
        trigger: { parent: "t1", on: "success" },
      }),
    ]);
    const { body } = await run(server);
    expect(body).toMatchObject({
      error: { code, details: { children: [{ task_id: "t1.failure", ran: true, ok: true }] } },
    });
    expect(readdirSync(server.directory)).toContain("handled");
    expect(readdirSync(server.directory)).not.toContain("done");
  });

  it.each([
    ["kill -KILL $$", "verify was ended by SIGKILL"],
    ["sleep 60", "verify took longer than 1 s"],
  ])("is told how its check ended: %s", async (shell, warning) => {
    const verify = { shell, timeout_seconds: 1, on_failure: "warn" };
    const server = await open([shellTask("true", [], { verify })]);
    expect((await run(server)).body).toMatchObject({ ok: true, warnings: [warning] });
  });

  it("is one at a time where the manifest has it so", async () => {
    const script = "echo x >> log; while [ ! -e go ]; do sleep 0.02; done";
    const task = (id: string, overlap_policy: string) =>
      shellTask("sh", ["-c", script], { id, reliability: { overlap_policy } });
    const server = await open([task("t1", "skip"), task("t2", "queue")]);
    const log = join(server.directory, "log");
    const first = [run(server), run(server, {}, ALICE, "t2"), run(server, {}, BOB, "t2")];
    const lines = () => (existsSync(log) ? readFileSync(log, "utf8").length / 2 : 0);
    await vi.waitFor(() => expect(lines()).toBe(2), PATIENCE);
    expect((await run(server, {}, BOB)).body).toMatchObject({
      error: { code: "task_already_running" },
    });
    expect(lines()).toBe(2);
    writeFileSync(join(server.directory, "go"), "");
    for (const reply of await Promise.all(first)) expect(reply.body).toMatchObject({ ok: true });
    expect(lines()).toBe(3);
  });

  it("brings about the tasks that follow on it, under their own rules", async () => {
    const child = (id: string, on: string, members: Members = {}, condition?: string) =>
      shellTask("echo", [id], {
        schedule: undefined,
        id,
        trigger: { parent: "t1", on, condition },
        ...members,
      });
    const server = await open([
      shellTask("echo", ["ALERT 42"]),
      child("ok", "success"),
      child("bad", "failure"),
      child("any", "complete", {}, "regex:ALERT \\d+"),
      child("other", "complete", {}, "contains:nothing"),
      child("gated", "success", { approval: { policy: "auto-reject" } }),
      child("late", "success", { trigger: { parent: "t1", on: "success", delay_s: 5 } }),
      shellTask("echo", ["third"], {
        id: "third",
        schedule: undefined,
        trigger: { parent: "ok", on: "success" },
      }),
    ]);
    const { body } = await run(server);
    expect(body["children"]).toMatchObject([
      {
        task_id: "ok",
        ran: true,
        ok: true,
        result: { stdout: "ok\n" },
        children: [{ task_id: "third", ran: true }],
      },
      { task_id: "any", ran: true },
      { task_id: "gated", ran: false, error: "approval_auto_rejected" },
      { task_id: "late", ran: false, reason: expect.stringContaining("delay_s") },
    ]);
  });

  it.each(["DEACTIVATE", "REVOKE", "NOTIFY"])(
    "brings about none after %s of its agent",
    async (method) => {
      const fifo = join(makeDirectory({}), "go");
      execFileSync("mkfifo", [fifo]);
      const manifest = manifestOf([
        shellTask("cat", [fifo]),
        shellTask("echo", ["next"], {
          ...{ id: "next", schedule: undefined },
          trigger: { parent: "t1", on: "success" },
        }),
      ]);
      const server = await openServer(files(manifest), { env: ENV, isClean: false });
      const certificate = makeCertificate({ serialNumber: "77" });
      const request = { method: "EXECUTE", path: "/workflows/wf:w1/task:t1" };
      const answered = server.send({ ...request, headers: { "Agent-ID": ALICE } }, { certificate });
      // It opens once the program reads.
      const go = await openFile(fifo, "w");
      const content = {
        ...{ event_type: "certificate_revoked", agent_id: ALICE },
        ...{ certificate_serial: "77", revocation_reason: "key-compromise" },
      };
      const body =
        method === "NOTIFY"
          ? { recipient: "infrastructure:broadcast", content }
          : { agent_id: ALICE, reason: "it was stolen" };
      expect((await server.send({ method, body }, { certificate: operator })).status).toBe(200);
      await go.close();
      const reply = await answered;
      expect(reply.body["children"]).toMatchObject([
        { task_id: "next", ran: false, error: "authorization_denied" },
      ]);
    },
  );

  it("ends a circle of triggers", async () => {
    const next = (id: string, parent: string) =>
      shellTask("true", [], { id, schedule: undefined, trigger: { parent, on: "success" } });
    const server = await open([next("a", "b"), next("b", "a")]);
    const { text } = await run(server, {}, ALICE, "a");
    expect(text.match(/"ran":true/g)).toHaveLength(4);
    expect(text).toContain("the chain of triggers is too long");
  });

  it("signs what it did where the manifest wants evidence", async () => {
    // `key_path` is the name that agentcli itself has for it.
    const provider_config = { key_path: "key" };
    const members = {
      evidence_profiles: [{ id: "e", provider: "ssh", provider_config }],
      workflow: { evidence: { ref: "e", verify: { required: true } } },
    };
    const server = await open([shellTask("echo", ["done", "--key=abc"])], members);
    const missing = await run(server);
    expect(missing.body).toMatchObject({
      error: { code: "evidence_failed", details: { result: { stdout: "done --key=abc\n" } } },
    });
    const { execFileSync } = await import("node:child_process");
    execFileSync("ssh-keygen", [
      "-q",
      "-t",
      "ed25519",
      "-N",
      "",
      "-f",
      join(server.directory, "key"),
    ]);
    const { body } = await run(server);
    expect(body["evidence"]).toMatchObject({
      schema: "agentcli.evidence.envelope",
      method: "ssh-signature",
      namespace: "agentcli",
      key_fingerprint: expect.stringMatching(/^SHA256:/),
      signature: expect.stringMatching(/^-----BEGIN SSH SIGNATURE-----/),
    });
    const evidence = body["evidence"] as unknown as Record<string, string>;
    const { command } = JSON.parse(evidence["signed_payload"] ?? "");
    expect(command).toEqual({
      ...{ program: "echo", args_count: 2, stdin_hash: null },
      args_hashes: [
        expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
        "sha256:d2bfd6fca7dafe12dfe2dcc7555f61c91ed816f0d2874e56c08a3da6fd94dc59",
      ],
      env_hash: canonicalDigest({}),
    });
    writeFileSync(join(server.directory, "sig"), `${evidence["signature"]}\n`);
    const check = () =>
      execFileSync("ssh-keygen", ["-Y", "check-novalidate", "-n", "agentcli", "-s", "sig"], {
        ...{ cwd: server.directory, input: evidence["signed_payload"], stdio: "pipe" },
      });
    expect(String(check())).toContain("Good");
  });
});

describe("the contract of a task", () => {
  it.each<[string, Members, string]>([
    ["a sandbox", { sandbox: "strict" }, "sandbox_enforcement_unavailable"],
    ["no network", { network: "none" }, "sandbox_enforcement_unavailable"],
    ["another directory", { allowed_paths: ["/nonexistent"] }, "contract_violation"],
    [
      "more trust than the manifest has",
      { required_trust_level: "autonomous", trust_enforcement: "strict" },
      "trust_level_insufficient",
    ],
  ])("that asks for %s is refused, and nothing runs", async (_, contract, code) => {
    const server = await open([shellTask("touch", ["owned"], { contract })]);
    const reply = await run(server);
    expect(reply.status).toBe(422);
    expect(reply.body).toMatchObject({ error: { code } });
    expect(existsSync(join(server.directory, "owned"))).toBe(false);
  });

  it("judges callers by the operator's map of tiers, and only by that", async () => {
    const contract = { required_trust_level: "supervised", trust_enforcement: "strict" };
    const tasks = [shellTask("true", [], { contract })];
    const unmapped = await open(tasks);
    expect((await run(unmapped, {}, BOB)).status).toBe(200);
    const mapped = await open(tasks, {}, { trust_levels: { "2": "supervised" } });
    expect((await run(mapped)).status).toBe(200);
    expect((await run(mapped, {}, BOB)).body).toMatchObject({
      error: { code: "trust_level_insufficient" },
    });
  });

  it("is only a warning where it is advisory", async () => {
    const contract = { required_trust_level: "autonomous", trust_enforcement: "advisory" };
    const server = await open([shellTask("true", [], { contract })]);
    expect((await run(server)).body["warnings"]).toEqual([
      'Trust level "supervised" is below required "autonomous" (advisory)',
    ]);
  });

  it("includes what a policy engine decides, which fails closed", async () => {
    const profile = {
      id: "p",
      provider: "opa",
      provider_config: { endpoint: "http://127.0.0.1:1/x" },
    };
    const task = shellTask("touch", ["owned"], { authorization: { ref: "p" } });
    const server = await open([task], { authorization_profiles: [profile] });
    const reply = await run(server);
    expect(reply.body).toMatchObject({ error: { code: "authorization_error" } });
    expect(reply.text).not.toContain("127.0.0.1:1");
    expect(existsSync(join(server.directory, "owned"))).toBe(false);
  });

  it("includes proofs, which somebody must have given", async () => {
    const members = {
      authorization_proof_profiles: [{ id: "p", method: "none" }],
      workflow: { authorization_proof: { ref: "p", verify: { required: true } } },
    };
    const server = await open([shellTask("true", [])], members);
    expect((await run(server)).body).toMatchObject({
      error: { code: "authorization_proof_failed" },
    });
  });
});

// agentcli spec "Approvals", AGTP "CONFIRM"
describe("approvals", () => {
  const gated = (approval: Members = {}) =>
    shellTask("sh", ["-c", "echo x >> log"], { approval: { policy: "manual", ...approval } });
  const count = ({ directory }: TestServer) => {
    const log = join(directory, "log");
    return existsSync(log) ? readFileSync(log, "utf8").length / 2 : 0;
  };

  it("are asked for once, given by an operator, and good for one run of whom they were given to", async () => {
    const server = await open([gated()]);
    const asked = await run(server);
    expect(asked.status).toBe(202);
    expect(asked.body).toMatchObject({
      ok: false,
      approval: { status: "pending_review", task_hash: expect.stringMatching(/^sha256:/) },
    });
    const id = asked.body["escalation_id"];
    expect((await run(server)).body["escalation_id"]).toBe(id);
    expect(count(server)).toBe(0);
    expect((await confirm(server, id, "accepted", ALICE)).status).toBe(403);
    expect((await confirm(server, id, "accepted", BOB)).status).toBe(403);
    expect((await confirm(server, id)).status).toBe(200);
    // Not good for anybody else.
    expect((await run(server, {}, BOB)).status).toBe(202);
    const runs = await Promise.all([run(server), run(server), run(server)]);
    expect(runs.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(count(server)).toBe(1);
    const again = await run(server);
    expect(again.status).toBe(202);
    expect(again.body["escalation_id"]).not.toBe(id);
  });

  it("have the run that waited for them begin under its Idempotency-Key, once", async () => {
    const server = await open([gated()]);
    const keyed = () =>
      server.send({
        ...{ method: "EXECUTE", path: "/workflows/wf:w1/task:t1", body: {} },
        headers: { "Agent-ID": ALICE, "Idempotency-Key": "k-1" },
      });
    const asked = await keyed();
    expect(asked.status).toBe(202);
    expect((await confirm(server, asked.body["escalation_id"])).status).toBe(200);
    expect((await keyed()).status).toBe(200);
    const again = await keyed();
    expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
    expect(count(server)).toBe(1);
  });

  it("can be given by whoever holds the scope that the manifest names", async () => {
    const server = await open([gated({ approver_scope: "ops:approve" })]);
    const id = (await run(server)).body["escalation_id"];
    expect((await confirm(server, id, "accepted", BOB)).status).toBe(403);
    expect((await confirm(server, id, "accepted", CAROL)).body).toMatchObject({
      result: { authority: "approver", decided_by: CAROL },
    });
    expect((await run(server)).status).toBe(200);
  });

  it("are for whom the agent asks, who does not give them itself", async () => {
    const server = await open([gated({ approver_scope: "ops:approve" })]);
    const handOn = async () => {
      const task = { method: "EXECUTE", path: "/workflows/wf:w1/task:t1", parameters: {} };
      const { body } = await server.send({
        ...{ method: "DELEGATE", headers: { "Agent-ID": CAROL } },
        body: { target_agent_id: ALICE, authority_scope: [], task },
      });
      return body["result"]?.["result"];
    };
    const id = (await handOn())?.["escalation_id"];
    expect((await confirm(server, id, "accepted", CAROL)).status).toBe(403);
    expect((await confirm(server, id)).status).toBe(200);
    // Alice's own is another question.
    const own = await run(server);
    expect([own.status, own.body["escalation_id"] === id]).toEqual([202, false]);
    expect(await handOn()).toMatchObject({ ok: true });
    expect(count(server)).toBe(1);
    expect((await confirm(server, own.body["escalation_id"], "accepted", CAROL)).status).toBe(200);
    expect((await run(server)).status).toBe(200);
  });

  it("are not kept for strangers", async () => {
    const manifest = manifestOf([gated()]);
    const identity = { unknown_agents: "accept" };
    const server = await openServer(files(manifest, {}, { policies: { identity } }), { env: ENV });
    const reply = await server.send({
      ...{ method: "EXECUTE", path: "/workflows/wf:w1/task:t1", body: {} },
      headers: { "Agent-ID": "d".repeat(64), "Authority-Scope": "ops:run" },
    });
    expect(reply.body).toMatchObject({ error: { code: "approval_required" } });
    expect(server.state.escalations.list()).toEqual([]);
  });

  it("can wait longer than a date can be written", async () => {
    const server = await open([gated({ timeout_s: Number.MAX_SAFE_INTEGER })]);
    expect((await run(server)).body).toMatchObject({
      approval: { status: "pending_review", expires_at: "9999-12-31T00:00:00.000Z" },
    });
    const listed = await server.send(
      { method: "QUERY", path: "/escalations" },
      { certificate: operator },
    );
    expect(listed.status).toBe(200);
  });

  it("that are refused let nothing run", async () => {
    const server = await open([gated()]);
    const id = (await run(server)).body["escalation_id"];
    await confirm(server, id, "rejected");
    expect((await run(server)).body).toMatchObject({ error: { code: "approval_rejected" } });
    expect(count(server)).toBe(0);
  });

  it.each([
    ["reject", { error: { code: "approval_rejected" } }],
    ["approve", { ok: true }],
  ])("that nobody gives in time %s as the manifest has it", async (auto, body) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const server = await open([gated({ timeout_s: 60, auto })]);
    expect((await run(server)).status).toBe(202);
    vi.setSystemTime(Date.now() + 61_000);
    expect((await run(server)).body).toMatchObject(body);
  });

  it("are not good for longer than they might have taken", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const server = await open([gated({ timeout_s: 60 })]);
    const id = (await run(server)).body["escalation_id"];
    vi.setSystemTime(Date.now() + 50_000);
    expect((await confirm(server, id)).status).toBe(200);
    vi.setSystemTime(Date.now() + 61_000);
    const stale = await run(server);
    expect(stale.status).toBe(202);
    const again = stale.body["escalation_id"];
    expect(again).not.toBe(id);
    await confirm(server, again);
    vi.setSystemTime(Date.now() + 59_000);
    expect((await run(server)).status).toBe(200);
    expect(count(server)).toBe(1);
  });

  it("are not good for another manifest", async () => {
    const server = await open([gated()]);
    const first = await run(server);
    await confirm(server, first.body["escalation_id"]);
    // What an earlier process kept is all that there is to go by.
    const same = await openServer(files(manifestOf([gated()])), { env: ENV, state: server.state });
    expect((await run(same)).status).toBe(200);
    const second = await run(same);
    await confirm(same, second.body["escalation_id"]);
    const other = await openServer(
      files(
        manifestOf([shellTask("sh", ["-c", "echo y >> log"], { approval: { policy: "manual" } })]),
      ),
      { env: ENV, state: server.state },
    );
    expect((await run(other)).status).toBe(202);
    expect(count(other)).toBe(0);
  });

  it("are not good for another profile under the same name", async () => {
    const withTrust = (level: string) =>
      files(
        manifestOf([gated()], {
          identity_profiles: [{ id: "p", provider: "none", trust: { level } }],
          workflow: { identity: { ref: "p" } },
        }),
      );
    const server = await openServer(withTrust("restricted"), { env: ENV });
    await confirm(server, (await run(server)).body["escalation_id"]);
    const { state } = server;
    const raised = await openServer(withTrust("autonomous"), { env: ENV, state });
    expect((await run(raised)).status).toBe(202);
    expect(count(raised)).toBe(0);
  });

  it.each([
    [{ policy: "auto-approve" }, 200],
    [{ policy: "auto-reject" }, 422],
    [{ required: true }, 202],
  ])("with %j answer %d", async (approval, status) => {
    const server = await open([shellTask("true", [], { approval })]);
    expect((await run(server)).status).toBe(status);
  });
});

const RUNTIME = { prompt_runtime: "agntcy:/mailcomposer" };
const WITHOUT_INPUT = {
  "handlers.mjs": "export const mail = () => ({ body: {} });",
  "endpoints/mail.toml": endpointFile({
    ...{ method: "EXECUTE", path: "/mailcomposer", properties: { count: { type: "integer" } } },
    handler: { type: "registered_function", function: "handlers.mail" },
  }),
};

describe("prompt tasks", () => {
  const agent = (status: number) => ({
    "handlers.mjs": `export const mail = (call) => (${status} === 200
      ? { body: { status: "success", output: { echo: call.input.input } } }
      : { error: "agent_run_failed" });`,
    "endpoints/mail.toml": endpointFile({
      ...{ method: "EXECUTE", path: "/mailcomposer", errors: ["agent_run_failed"] },
      properties: { input: { type: "object", properties: { message: { type: "string" } } } },
      handler: { type: "registered_function", function: "handlers.mail" },
    }),
  });
  const openWith = (more: DeploymentFiles) =>
    openServer({
      ...files(manifestOf([promptTask()]), RUNTIME),
      ...more,
    });

  it("go to the agent that the operator names", async () => {
    const { status, body } = await run(await openWith(agent(200)));
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ok: true,
      runtime: {
        path: "/mailcomposer",
        status: 200,
        body: { output: { echo: { message: "hello" } } },
      },
    });
  });

  it.each([
    ["has its answer", { success: { message: "sent" } }, 200, true, "success"],
    [
      "asks something",
      { interrupt: { mail_send_approval: { subject: "s", body: "b" } } },
      202,
      false,
      "interrupted",
    ],
  ])("are waited for until their agent %s", async (_, step, status, ok, standing) => {
    const manifest = JSON.stringify(manifestOf([promptTask()]));
    const { ask } = await openHosted(await openAcp({ script: () => step }), {
      tables: {
        agentcli: {
          ...{ manifests: ["agents/agentcli/m.json"], expose: ["w1"] },
          prompt_runtime: "agntcy:/mailcomposer",
        },
      },
      files: { "agents/agentcli/m.json": manifest },
    });
    const reply = await ask(MAYA, {
      method: "EXECUTE",
      path: "/workflows/wf:w1/task:t1",
      body: {},
    });
    expect(reply.status).toBe(status);
    expect(reply.body).toMatchObject({ ok, runtime: { status, body: { status: standing } } });
  });

  it("are not sent where they need evidence, which only programs give, and warn of other checks", async () => {
    const serve = (evidence: Members, verify?: Members) => {
      const manifest = manifestOf([promptTask({ evidence: { ref: "e", ...evidence }, verify })], {
        evidence_profiles: [{ id: "e", provider: "ssh" }],
      });
      const served = files(manifest, { prompt_runtime: "agntcy:/mailcomposer" });
      // A start warns of the one that is refused.
      return openServer({ ...served, ...agent(200) }, { isClean: false });
    };
    const refused = await run(await serve({ verify: { required: true } }));
    expect([refused.status, refused.body]).toMatchObject([
      422,
      { error: { code: "evidence_failed", message: "of a prompt there is no evidence" } },
    ]);
    const { status, body } = await run(await serve({}, { shell: "false" }));
    expect([status, body]).toMatchObject([
      200,
      {
        ok: true,
        warnings: ["of a prompt there is no evidence", "the answer to a prompt is not verified"],
      },
    ]);
  });

  it.each([
    ["is not served", {}],
    ["has no input that a prompt fits", WITHOUT_INPUT],
  ])("are refused, as a start warns, where EXECUTE /mailcomposer %s", async (reason, more) => {
    const prompts = { ...files(manifestOf([promptTask()]), RUNTIME), ...more };
    const server = await openServer(prompts, { isClean: false });
    const message = `EXECUTE /mailcomposer ${reason}`;
    const key = "agtp-server.toml: agentcli.prompt_runtime";
    expect(server.problems.map(formatProblem)).toEqual([
      `${key}: no prompt can be answered: ${message}`,
    ]);
    expect((await run(server)).body).toMatchObject({ error: { code: "no_runtime", message } });
    const programs = files(manifestOf([shellTask("true", [])]), RUNTIME);
    expect((await openServer({ ...programs, ...more })).problems).toEqual([]);
  });

  it("are refused in so many words where their agent fails", async () => {
    expect((await run(await openWith(agent(422)))).body).toMatchObject({
      error: { code: "runtime_failed", details: { status: 422 } },
    });
  });
});

describe("over TLS", () => {
  function request(path = "/workflows/wf:w1/task:t1"): Buffer {
    return encodeRequest({ method: "EXECUTE", path, headers: { "Agent-ID": ALICE }, body: {} });
  }

  it("a run ends with the connection that waits for it, and with the daemon", async () => {
    const script = "echo $$ >> pids; while :; do sleep 1; done";
    const manifest = manifestOf([
      shellTask("sh", ["-c", script], { runtime: { timeout_ms: 600_000 } }),
    ]);
    const limits = { limits: { drain_timeout_ms: 50 } };
    const before = new Set(process.listeners("exit"));
    const { daemon, directory, connect } = await openDaemon(files(manifest, {}, limits));
    const pids = () => {
      const file = join(directory, "pids");
      return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").map(Number) : [];
    };
    const hasEnded = (pid: number | undefined) => () => {
      expect(() => process.kill(pid ?? 0, 0)).toThrow();
    };
    const first = await connect();
    first.write(request());
    await vi.waitFor(() => expect(pids()).toHaveLength(1), PATIENCE);
    first.destroy();
    await vi.waitFor(hasEnded(pids()[0]), PATIENCE);
    // A process that is told to end at once has no time to drain.
    const third = await connect();
    third.write(request());
    await vi.waitFor(() => expect(pids()).toHaveLength(2), PATIENCE);
    for (const listener of process.listeners("exit")) {
      if (!before.has(listener)) listener.call(process, 1);
    }
    await vi.waitFor(hasEnded(pids()[1]), PATIENCE);
    const second = await connect();
    second.write(request());
    await vi.waitFor(() => expect(pids()).toHaveLength(3), PATIENCE);
    await daemon.drain();
    await vi.waitFor(hasEnded(pids()[2]), PATIENCE);
  });
});
