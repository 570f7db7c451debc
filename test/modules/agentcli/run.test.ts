import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { codeOf } from "../../../src/base/thrown.ts";
import type { EndpointDefinition } from "../../../src/endpoint/endpoint.ts";
import type { MergedContract } from "../../../src/modules/agentcli/compile/merge.ts";
import {
  applyProfile,
  declareIdentity,
  isDeclared,
} from "../../../src/modules/agentcli/compile/merge.ts";
import { isFailure } from "../../../src/modules/agentcli/failure.ts";
import { foundTask } from "../../../src/modules/agentcli/identity/find-task.ts";
import { bearerSession } from "../../../src/modules/agentcli/identity/session.ts";
import { taskHash } from "../../../src/modules/agentcli/identity/task-hash.ts";
import type {
  Binding,
  Identity,
  Manifest,
} from "../../../src/modules/agentcli/manifest/manifest.ts";
import { Approvals } from "../../../src/modules/agentcli/run/approvals.ts";
import { checkContract } from "../../../src/modules/agentcli/run/govern.ts";
import { presentCredentials } from "../../../src/modules/agentcli/run/present-credentials.ts";
import {
  CapturedOutput,
  createRedactor,
  parseStructured,
  secretsOf,
} from "../../../src/modules/agentcli/run/program-output.ts";
import { readRuntimePath, sendPrompt } from "../../../src/modules/agentcli/run/prompt-runtime.ts";
import { TaskRuns } from "../../../src/modules/agentcli/run/task-runs.ts";
import { TaskTurns } from "../../../src/modules/agentcli/run/task-turns.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import { EscalationRegister } from "../../../src/state/registers/escalation-register.ts";
import { manifestOf, shellTask } from "../../support/agentcli.ts";
import { cpuMs } from "../../support/cpu-time.ts";
import { makeDirectory } from "../../support/directory.ts";
import { makeLastingStore } from "../../support/state.ts";
import { alterStore } from "../../support/store.ts";

describe("the redactor", () => {
  const redact = createRedactor(["hunter2-hunter2", "short"]);

  it("takes out what it knows, in base64 too, and what looks like a credential", () => {
    const encoded = Buffer.from("hunter2-hunter2").toString("base64");
    for (const secret of [
      "hunter2-hunter2",
      encoded,
      "Bearer abcdefgh12345678",
      "AKIAABCDEFGHIJKLMNOP",
      "ghp_abcdefghijklmnopqrstuvwxyz012345",
      "eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0.sig",
      "-----BEGIN PRIVATE KEY-----\nMIIB\n-----END PRIVATE KEY-----",
      "glpat-abcdefghijklmnop",
      "xoxb-abcdefgh12345678",
    ]) {
      expect(redact(`a ${secret} b`)).toBe("a [REDACTED] b");
    }
  });

  it("leaves ordinary words and Agent-IDs alone", () => {
    const text = `short ${"a".repeat(64)} sha256:${"0".repeat(64)}`;
    expect(redact(text)).toBe(text);
  });

  it("leaves no part of one that a cut goes through, however much of them there is", () => {
    for (const length of [2_000, 60_000]) {
      const secret = `opaque-${"s".repeat(length)}`;
      const output = new CapturedOutput(65_536);
      for (let n = 0; n < 200; n += 1) output.push(Buffer.from(`${secret}\n`));
      const text = output.text(createRedactor([secret]));
      expect(output.isTruncated).toBe(true);
      expect(text).toBe("[REDACTED]\n".repeat(Math.floor(65_536 / (secret.length + 1))));
    }
  });

  it("is quick with octets that are no text, and cuts between two characters", () => {
    const started = cpuMs();
    const output = new CapturedOutput(600_000);
    output.push(Buffer.concat([Buffer.alloc(199_000, 0xff), Buffer.from("é".repeat(10_000))]));
    const text = output.text((one) => one);
    expect(text).toBe(`${"\ufffd".repeat(199_000)}${"é".repeat(1_500)}`);
    expect(cpuMs() - started).toBeLessThan(2_000);
  });

  it("leaves no part of a secret, wherever it stands", () => {
    const secrets = fc
      .string({ minLength: 8, maxLength: 20 })
      .filter((text) => text.trim().length >= 8);
    fc.assert(
      fc.property(secrets, fc.string(), fc.string(), (secret, before, after) => {
        expect(createRedactor([secret])(`${before}${secret}${after}`)).not.toContain(secret.trim());
      }),
    );
  });

  it("is quick with what only looks like the beginning of a secret", () => {
    const started = cpuMs();
    for (const part of ["eyJ-", "-----BEGIN PRIVATE KEY-----\n", "Bearer ", "sk-", "ghp_"]) {
      redact(part.repeat(1_000_000 / part.length));
    }
    expect(cpuMs() - started).toBeLessThan(5_000);
  });

  it("knows secrets of an environment by their names", () => {
    expect(secretsOf({ DB_PASSWORD: "a", API_KEY: "b", HOME: "c", NONE_TOKEN: undefined })).toEqual(
      ["a", "b"],
    );
  });
});

// agentcli spec "Contract"
describe("checkContract", () => {
  const contract = (members: Partial<MergedContract>): MergedContract => ({
    ...{ sandbox: null, allowed_paths: null, network: null, max_cost_usd: null, audit: null },
    ...{ required_trust_level: null, trust_enforcement: null },
    ...members,
  });

  it.each([
    [{ sandbox: "strict" }],
    [{ allowed_paths: ["/"] }],
    [{ network: "none" }],
    [{ network: "restricted" }],
  ] as const)("refuses %j, which cannot be enforced", (members) => {
    expect(checkContract(contract(members), null, "/")).toMatchObject({
      ...{ kind: "broken", error: "sandbox_enforcement_unavailable" },
    });
  });

  it("holds the working directory to the allowed paths, links resolved", () => {
    const directory = makeDirectory();
    for (const name of ["in", "in/side", "inner", "out"]) mkdirSync(join(directory, name));
    symlinkSync(join(directory, "out"), join(directory, "in/link"));
    const check = (cwd: string | null) =>
      checkContract(contract({ allowed_paths: ["in"] }), cwd, directory);
    // What the program opens is not confined, wherever it starts.
    expect(check("in/side")).toMatchObject({ error: "sandbox_enforcement_unavailable" });
    for (const cwd of ["out", "inner", "in/../out", "in/link", null]) {
      expect(check(cwd)).toMatchObject({ kind: "broken", error: "contract_violation" });
    }
    expect(check("gone")).toMatchObject({ kind: "broken", error: "task_not_started" });
  });

  it("lets a permissive sandbox be, and says that there is none", () => {
    expect(checkContract(contract({ sandbox: "permissive" }), null, "/")).toEqual({
      ...{ kind: "kept", cwd: "/" },
      warnings: ['contract.sandbox is "permissive": the program is not isolated'],
    });
  });
});

// agentcli execution identity "Presentation"
describe("presentCredentials", () => {
  function identity(bindings: readonly Binding[], more: Identity["presentation"] = {}) {
    const presentation = { bindings, ...more };
    const declared = declareIdentity(undefined, { ref: "p", presentation });
    if (!isDeclared(declared)) throw new Error("declared");
    const effective = applyProfile(undefined, declared);
    return { effective, session: bearerSession("env-bearer", effective, "t0ken-value") };
  }
  const source = "credentials.access_token.value";

  it("puts them in variables, files and standard input, and takes files back", () => {
    const presented = presentCredentials(
      identity([
        { source, target: { kind: "env", name: "TOKEN" } },
        { source, format: "base64", target: { kind: "env", name: "TOKEN64" } },
        { source, target: { kind: "file", name: "TOKEN_FILE" } },
        { source, target: { kind: "stdin" } },
        { source: "credentials.nothing", target: { kind: "env", name: "NOTHING" } },
      ]),
      null,
    );
    if (isFailure(presented)) throw new Error(presented.message);
    const { TOKEN_FILE: file = "", ...env } = presented.env;
    expect(env).toEqual({
      TOKEN: "t0ken-value",
      TOKEN64: Buffer.from("t0ken-value").toString("base64"),
    });
    expect(readFileSync(file, "utf8")).toBe("t0ken-value");
    expect(statSync(file).mode & 0o077).toBe(0);
    expect(presented.stdin).toBe("t0ken-value");
    expect(presented.secrets).toContain("t0ken-value");
    presented.remove();
    expect(existsSync(file)).toBe(false);
  });

  it("names a file as the manifest does, and leaves out what is not there", () => {
    const file = { kind: "file", expose_as: "A" } as const;
    const presented = presentCredentials(
      identity([
        { source, target: { ...file, name: "credentials.json" } },
        { source, target: { ...file, prefix: "acme", expose_as: "B" } },
        { source: "credentials.access_token.expires_at", target: { kind: "env", name: "END" } },
      ]),
      null,
    );
    if (isFailure(presented)) throw new Error(presented.message);
    const { A = "", B = "", ...others } = presented.env;
    expect([basename(A), basename(B), others]).toEqual(["credentials.json", "acme-2", {}]);
    presented.remove();
  });

  it("conceals what a binding gives, unless it is told otherwise, and the token always", () => {
    const principal = { source: "provider", target: { kind: "env", name: "WHO" } as const };
    const secretsOf = (one: Binding, of = identity([one])) => {
      const presented = presentCredentials(of, null);
      return isFailure(presented) ? presented : new Set(presented.secrets);
    };
    expect(secretsOf(principal)).toEqual(new Set(["env-bearer", "t0ken-value"]));
    expect(secretsOf({ ...principal, redact: false })).toEqual(new Set(["t0ken-value"]));
    const open = identity([principal], { default_redaction: false });
    expect(secretsOf(principal, open)).toEqual(new Set(["t0ken-value"]));
  });

  it.each(["always", "on-success", "on-failure", "never"] as const)(
    "leaves files where the manifest says so: cleanup is %s",
    (cleanup) => {
      const bindings = [{ source, target: { kind: "file", name: "TOKEN_FILE" } as const }];
      const presented = presentCredentials(identity(bindings, { cleanup }), null);
      if (isFailure(presented)) throw new Error(presented.message);
      const directory = dirname(presented.env["TOKEN_FILE"] ?? "");
      const left = { success: presented.leftAfter(true), failure: presented.leftAfter(false) };
      expect(left).toEqual({
        success: ["on-failure", "never"].includes(cleanup) ? directory : undefined,
        failure: ["on-success", "never"].includes(cleanup) ? directory : undefined,
      });
      presented.remove();
    },
  );

  it.each<[string, readonly Binding[], string | null, string]>([
    [
      "the way into another directory",
      [{ source, target: { kind: "file", name: "../x", expose_as: "A" } }],
      null,
      "presentation_target_invalid",
    ],
    [
      "the way into another directory by a prefix",
      [{ source, target: { kind: "file", prefix: "a/b", expose_as: "A" } }],
      null,
      "presentation_target_invalid",
    ],
    [
      "what is for the record alone",
      [{ source: "delegation_chain", target: { kind: "env", name: "CHAIN" } }],
      null,
      "presentation_source_forbidden",
    ],
    [
      "what is required and null",
      [{ source: "credentials.access_token.expires_at", required: true }],
      null,
      "presentation_binding_missing",
    ],
    [
      "a taken standard input",
      [{ source, target: { kind: "stdin" } }],
      "mine",
      "presentation_stdin_conflict",
    ],
    [
      "a name that is none",
      [{ source, target: { kind: "env", name: "A=B" } }],
      null,
      "presentation_target_invalid",
    ],
    [
      "what is required and not there",
      [{ source: "constructor.name", required: true }],
      null,
      "presentation_binding_missing",
    ],
  ])("refuses %s", (_, bindings, stdin, code) => {
    expect(presentCredentials(identity(bindings), stdin)).toMatchObject({ kind: "failure", code });
  });

  it("leaves nothing behind where a file cannot be written", () => {
    const root = makeDirectory();
    // The directory of the files has room below it, and they have none: paths end at 4095 octets.
    const place = padPath(root, 4_095 - "/agtpd-credentials-XXXXXX".length);
    mkdirSync(place, { recursive: true });
    vi.stubEnv("TMPDIR", place);
    onTestFinished(() => void vi.unstubAllEnvs());
    const bindings = [{ source, target: { kind: "file", name: "TOKEN_FILE" } as const }];
    const code = "presentation_target_invalid";
    expect(presentCredentials(identity(bindings), null)).toMatchObject({ kind: "failure", code });
    expect(readdirSync(place)).toEqual([]);
    vi.stubEnv("TMPDIR", join(root, "none"));
    expect(presentCredentials(identity(bindings), null)).toMatchObject({ kind: "failure", code });
  });

  it("takes files back from among what cannot be removed", () => {
    const bindings = [{ source, target: { kind: "file", name: "TOKEN_FILE" } as const }];
    const presented = presentCredentials(identity(bindings), null);
    if (isFailure(presented)) throw new Error(presented.message);
    const { TOKEN_FILE: file = "" } = presented.env;
    const directory = dirname(file);
    onTestFinished(() => void execFileSync("rm", ["-rf", directory]));
    // Deeper than any path can say.
    const step = 'fs.mkdirSync("a".repeat(200)); process.chdir("a".repeat(200));';
    const script = `for (let level = 0; level < 30; level += 1) { ${step} }`;
    execFileSync(process.execPath, ["-e", script], { cwd: directory });
    // Node 24 removes all of it.
    expect(["", "ENAMETOOLONG"]).toContain(codeOf(presented.remove()));
    expect(existsSync(file)).toBe(false);
  });

  it("hands nothing off", () => {
    expect(presentCredentials(identity([], { handoff: "downscope" }), null)).toMatchObject({
      kind: "failure",
    });
  });
});

/** A path of so many octets below a directory. */
function padPath(directory: string, length: number): string {
  const left = length - directory.length;
  if (left <= 200) return left < 2 ? directory : `${directory}/${"a".repeat(left - 1)}`;
  return padPath(`${directory}/${"a".repeat(99)}`, length);
}

describe("parseStructured", () => {
  it.each([
    ['{"a":1}', "json", { value: { a: 1 } }],
    ['{"a":1}\n\n2\n', "ndjson", { value: [{ a: 1 }, 2] }],
  ] as const)("parses %j as %s", (text, format, expected) => {
    expect(parseStructured(text, format, false)).toEqual(expected);
  });

  it("counts what is in it before it is parsed", () => {
    const lists = `[${"[],".repeat(200_000)}[]]`;
    const warning = "the output has more than 50000 values: it is shown as text alone";
    expect(parseStructured(lists, "json", false)).toEqual({ warning });
    expect(parseStructured("[]\n".repeat(200_000), "ndjson", false)).toEqual({ warning });
  });

  it("warns of what is none, what was cut off and what is too deep", () => {
    const deep = `${"[".repeat(200)}${"]".repeat(200)}`;
    for (const [text, isCut] of [
      ["{", false],
      ["{}", true],
      [deep, false],
    ] as const) {
      expect(parseStructured(text, "json", isCut)).toEqual({ warning: expect.any(String) });
    }
  });
});

const INA = { agentId: "ina", delegatedBy: [], behalf: undefined };

describe("Approvals", () => {
  const manifest = manifestOf([
    shellTask("true", [], { approval: { required: true } }),
  ]) as unknown as Manifest;
  const [workflow] = manifest.workflows;
  const [task] = workflow?.tasks ?? [];
  if (workflow === undefined || task === undefined) throw new Error("no task");
  const found = foundTask(manifest, workflow, task);

  it("are for the credentials that were asked about, whoever the task has them of", () => {
    const hashOf = (policy: string | undefined, scopes: readonly string[]): string => {
      const other = manifestOf([
        shellTask("true", [], { identity: { auth: { scopes } } }),
        shellTask("true", [], {
          id: "t2",
          schedule: undefined,
          trigger: { parent: "t1", on: "success" },
          child_credential_policy: policy,
        }),
      ]) as unknown as Manifest;
      const [own] = other.workflows;
      const [, child] = own?.tasks ?? [];
      if (own === undefined || child === undefined) throw new Error("no task");
      return taskHash(foundTask(other, own, child));
    };
    const policies = [undefined, "none", "inherit", "downscope", "independent"];
    expect(new Set(policies.map((policy) => hashOf(policy, ["a"]))).size).toBe(5);
    for (const policy of policies) {
      const isOfParent = policy === "inherit" || policy === "downscope";
      expect(hashOf(policy, ["a"]) !== hashOf(policy, ["a", "b"])).toBe(isOfParent);
    }
  });

  it("are good for as long as an answer may take, whoever has given them", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const auto = { required: true, auto: "approve", timeout_s: 60 };
    const other = manifestOf([shellTask("true", [], { approval: auto })]) as unknown as Manifest;
    const [own] = other.workflows;
    const [asking] = own?.tasks ?? [];
    if (own === undefined || asking === undefined) throw new Error("no task");
    const store = createMemoryStore();
    const escalations = await EscalationRegister.open(store);
    const approvals = await Approvals.open(store, escalations);
    const ask = () => approvals.ask(INA, foundTask(other, own, asking));
    const first = await ask();
    vi.advanceTimersByTime(60_000);
    expect((await ask()).kind).toBe("granted");
    vi.advanceTimersByTime(60_000);
    expect((await ask()).kind).toBe("granted");
    vi.advanceTimersByTime(1);
    const second = await ask();
    if (first.kind !== "pending" || second.kind !== "pending") throw new Error("not asked");
    expect(second.escalation.escalationId).not.toBe(first.escalation.escalationId);
    const { escalationId } = second.escalation;
    const decision = { status: "accepted", authority: "operator", attestationId: "a" } as const;
    await escalations.decide(escalationId, { ...decision, at: Date.now() });
    vi.advanceTimersByTime(60_000);
    expect((await ask()).kind).toBe("granted");
    vi.advanceTimersByTime(1);
    expect((await ask()).kind).toBe("pending");
  });

  it("have their whole time where the clock has stepped back, as their register does not", async () => {
    const store = createMemoryStore();
    const now = (): number => Date.now() + 7 * 86_400_000;
    const escalations = await EscalationRegister.open(store, { now });
    const approvals = await Approvals.open(store, escalations);
    const asked = await approvals.ask(INA, found);
    expect((await approvals.ask(INA, found)).kind).toBe("pending");
    if (asked.kind !== "pending") throw new Error(asked.kind);
    const { escalationId } = asked.escalation;
    const decision = { status: "accepted", authority: "operator", attestationId: "a" } as const;
    await escalations.decide(escalationId, { ...decision, at: escalations.now() });
    expect((await approvals.ask(INA, found)).kind).toBe("granted");
  });

  it("are good for one run, also where another process asked for them and another used them", async () => {
    const store = createMemoryStore();
    const escalations = await EscalationRegister.open(store);
    const asked = await (await Approvals.open(store, escalations)).ask(INA, found);
    if (asked.kind !== "pending") throw new Error(asked.kind);
    const { escalationId } = asked.escalation;
    // As earlier versions kept it.
    const value = { escalationId, taskHash: asked.taskHash };
    const key = `ina/${found.plan.source.workflow_id}/${found.plan.source.task_id}`;
    await store.commit([{ kind: "put", collection: "agentcli-approvals", key, value }]);
    const decision = { status: "accepted", authority: "operator", attestationId: "a" } as const;
    await escalations.decide(escalationId, { ...decision, at: Date.now() });
    const approvals = await Approvals.open(store, escalations);
    const [first, second] = [await approvals.ask(INA, found), await approvals.ask(INA, found)];
    if (first.kind !== "granted" || second.kind !== "granted") throw new Error("not granted");
    expect([await first.consume(), await second.consume()]).toEqual([true, false]);
    expect(await approvals.ask(INA, found)).toMatchObject({ kind: "pending" });
    const next = await Approvals.open(store, escalations);
    const again = await next.ask(INA, found);
    expect(again).toMatchObject({ kind: "pending" });
    expect(again).not.toMatchObject({ escalation: { escalationId } });
  });
});

describe("TaskTurns", () => {
  it("gives a turn back later where the store cannot take it back now", async () => {
    const store = makeLastingStore();
    const holders = { self: "one", isGone: () => false, watch: () => () => undefined };
    const turns = await TaskTurns.open(store, holders);
    const first = await turns.take("a");
    expect(await turns.take("a")).toBeUndefined();
    store.fault = new Error("the store cannot be reached");
    await first?.end();
    await expect(turns.take("b")).rejects.toThrow("cannot be reached");
    store.fault = undefined;
    for (const taskId of ["a", "b"]) {
      const next = await turns.await(taskId, { signals: [AbortSignal.timeout(10_000)] });
      expect(next, taskId).toBeDefined();
    }
  });

  it("gives back what was taken without its being known", async () => {
    const kept = createMemoryStore();
    let isLost = true;
    const store = alterStore(kept, {
      async commit(...args) {
        const outcome = await kept.commit(...args);
        if (isLost) throw new Error("the connection was lost");
        return outcome;
      },
    });
    const holders = { self: "one", isGone: () => false, watch: () => () => undefined };
    const turns = await TaskTurns.open(store, holders);
    await expect(turns.take("a")).rejects.toThrow("was lost");
    isLost = false;
    const next = await turns.await("a", { signals: [AbortSignal.timeout(10_000)] });
    expect(next).toBeDefined();
  });
});

describe("TaskRuns", () => {
  const wanted = (taskId: string, signal = new AbortController().signal, key = "ina") => ({
    ...{ taskId, owner: { key, isKnown: true }, signal },
  });
  const overlap = (policy: "skip" | "allow" | "queue", maxQueued = 2) => ({ policy, maxQueued });

  it("skips, allows or queues as the policy has it", async () => {
    const runs = new TaskRuns();
    const first = await runs.begin(wanted("a"), overlap("skip"));
    expect(await runs.begin(wanted("a"), overlap("skip"))).toMatchObject({ kind: "none" });
    expect(await runs.begin(wanted("b"), overlap("skip"))).toMatchObject({ kind: "begun" });
    expect(await runs.begin(wanted("a"), overlap("allow"))).toMatchObject({ kind: "begun" });
    expect(first.kind).toBe("begun");
  });

  it("hands a place on in order, to a bounded number, and not to who has gone", async () => {
    const runs = new TaskRuns();
    const order: number[] = [];
    const first = await runs.begin(wanted("a"), overlap("queue"));
    const abort = new AbortController();
    const gone = runs.begin(wanted("a", abort.signal), overlap("queue"));
    const second = runs.begin(wanted("a"), overlap("queue")).then((slot) => {
      order.push(2);
      return slot;
    });
    expect(await runs.begin(wanted("a"), overlap("queue"))).toMatchObject({ kind: "none" });
    abort.abort();
    expect(await gone).toMatchObject({ kind: "none" });
    const third = runs.begin(wanted("a"), overlap("queue")).then((slot) => {
      order.push(3);
      return slot;
    });
    await release(first);
    await release(await second);
    await release(await third);
    expect(order).toEqual([2, 3]);
    expect(await runs.begin(wanted("a"), overlap("skip"))).toMatchObject({ kind: "begun" });
  });

  it("bounds all tasks together: further ones wait in order, and a bounded number of them", async () => {
    const runs = new TaskRuns();
    let started = 0;
    let asked = 0;
    const takeOne = async (waiter = new AbortController().signal) => {
      asked += 1;
      const slot = await runs.begin(
        wanted(`t${started}`, waiter, `agent ${asked}`),
        overlap("allow"),
      );
      if (slot.kind === "begun") started += 1;
      return slot;
    };
    const running = await Promise.all(Array.from({ length: 32 }, () => takeOne()));
    const abort = new AbortController();
    const gone = takeOne(abort.signal);
    const waiting = Array.from({ length: 255 }, () => takeOne());
    expect(await takeOne()).toMatchObject({ kind: "none", message: "too many tasks are running" });
    abort.abort();
    expect(await gone).toMatchObject({ kind: "none" });
    expect(started).toBe(32);
    for (const slot of running) await release(slot);
    for (const slot of waiting) await release(await slot);
    expect(started).toBe(32 + 255);
    expect(await runs.begin(wanted("x"), overlap("skip"))).toMatchObject({ kind: "begun" });
  });

  it("leaves places to others, however many one caller asks for", async () => {
    const runs = new TaskRuns();
    let begun = 0;
    const many = Array.from({ length: 100 }, async () => {
      const slot = await runs.begin(wanted("long"), overlap("allow"));
      begun += 1;
      return slot;
    });
    const other = await runs.begin(wanted("short", undefined, "rex"), overlap("allow"));
    expect(other.kind).toBe("begun");
    await Promise.all(many.slice(0, 16));
    expect(begun).toBe(16);
    for (const slot of many) await release(await slot);
  });

  async function release(slot: Awaited<ReturnType<TaskRuns["begin"]>>): Promise<void> {
    if (slot.kind === "begun") await slot.end();
  }
});

describe("a prompt runtime", () => {
  it.each([
    ["agntcy:/mailcomposer", "/mailcomposer"],
    ["agntcy:mail", undefined],
    ["openwop:/x", undefined],
  ])("is read from %s", (text, path) => {
    expect(readRuntimePath(text)).toBe(path);
  });

  it.each<[object, unknown]>([
    [{ type: "string" }, "hi"],
    [
      {
        type: "object",
        properties: { topic: { type: "string" }, n: { type: "integer" } },
        required: ["topic"],
      },
      { topic: "hi" },
    ],
    [
      { type: "object", properties: { a: { type: "string" }, message: { type: "string" } } },
      { message: "hi" },
    ],
    [
      {
        type: "object",
        properties: { a: { type: "string" }, b: { type: "string" } },
        required: ["a", "b"],
      },
      undefined,
    ],
    [{ type: "object", properties: { n: { type: "integer" } } }, undefined],
    [{ $ref: "#/$defs/in" }, { prompt: "hi" }],
  ])("is sent a prompt as its input %j has it", async (input, expected) => {
    const sent: unknown[] = [];
    const inputSchema = {
      ...{ type: "object", properties: { input } },
      $defs: { in: { type: "object", properties: { prompt: { type: "string" } } } },
    };
    const endpoint = () => ({ inputSchema }) as unknown as EndpointDefinition;
    const dispatch = (_method: string, _path: string, body: unknown) => {
      sent.push(body);
      return Promise.resolve({ status: 200, headers: {}, body: {} });
    };
    const answer = await sendPrompt({ path: "/m", endpoint }, "hi", 5_000, { dispatch });
    expect(answer.kind).toBe(expected === undefined ? "no-runtime" : "answer");
    expect(sent).toEqual(expected === undefined ? [] : [{ input: expected }]);
  });
});
