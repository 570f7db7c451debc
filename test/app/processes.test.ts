/** Functions of processes behind a daemon, over TLS, with real processes.   docs/processes.md */
import { execFileSync } from "node:child_process";
import { chmodSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Registry } from "prom-client";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { checkDeployment } from "../../src/app/daemon.ts";
import { createLog } from "../../src/base/log.ts";
import type { Problem } from "../../src/base/problem.ts";
import {
  DeployedProcesses,
  openProcessHouse,
} from "../../src/handlers/processes/deployed-processes.ts";
import type { ProcessLog } from "../../src/handlers/processes/process-call.ts";
import type { ProcessConfig } from "../../src/handlers/processes/processes-section.ts";
import type { RuntimeTurn } from "../../src/modules/openwop/runtime/agent-runtime.ts";
import { createFunctionRuntime } from "../../src/modules/openwop/runtime/function-runtime.ts";
import { createProcessTurn } from "../../src/modules/openwop/runtime/load-runtime.ts";
import { measureProcesses } from "../../src/server/process-metrics.ts";
import { manifestOf, promptTask } from "../support/agentcli.ts";
import { askOnce, createDaemon, openDaemon, type TestDaemon } from "../support/daemon.ts";
import {
  agentFile,
  createDeployment,
  type DeploymentFiles,
  endpointFile,
  makeDeployment,
} from "../support/deployment.ts";
import { encodeRequest, type TestReply } from "../support/dispatch.ts";
import { packFiles } from "../support/openwop.ts";
import { PATIENCE } from "../support/patience.ts";
import {
  HANDLER_PROCESS,
  isAlive,
  type ProcessEntry,
  processConfig,
  processEndpoints,
} from "../support/processes.ts";

/** The processes that this one has started. */
function listChildren(): readonly string[] {
  const args = ["-o", "pid=,args=", "--ppid", String(process.pid)];
  const lines = execFileSync("ps", args, { encoding: "utf8" }).split("\n");
  return lines.filter((line) => line.includes(HANDLER_PROCESS));
}

const AGENT = "ab".repeat(32);
const headers = { "Agent-ID": AGENT };
const AGENTS = {
  "agents/alma.agent.json": agentFile({
    ...{ agent_id: AGENT, name: "alma", scopes_accepted: ["runs:create"] },
  }),
};

interface Deployed extends ProcessEntry {
  readonly mode?: readonly string[];
  readonly tables?: Readonly<Record<string, object>>;
  readonly files?: DeploymentFiles;
}

function filesOf(functions: readonly string[], deployed: Deployed = {}): DeploymentFiles {
  const { mode = [], tables = {}, files = {}, ...entry } = deployed;
  return {
    "agtp-server.toml": processConfig(mode, entry, tables),
    ...AGENTS,
    ...processEndpoints(...functions),
    ...files,
  };
}

async function ask(daemon: TestDaemon, name: string, body: object = {}): Promise<TestReply> {
  return askOnce(daemon, { method: "QUERY", path: `/${name}s`, headers, body });
}

/** Every line so far, or from one on, as text. */
function logged({ log }: TestDaemon, from = 0): string {
  return log
    .slice(from)
    .map((line) => JSON.stringify(line))
    .join("\n");
}

/** A daemon for all tests of a group; none of them may change what the others see. */
function shareDaemon(files: DeploymentFiles): () => TestDaemon {
  let daemon: TestDaemon | undefined;
  const deployment = createDeployment(files);
  beforeAll(async () => {
    daemon = await createDaemon(deployment);
  });
  afterAll(async () => {
    await daemon?.close();
    deployment.remove();
  });
  return () => {
    if (daemon === undefined) throw new Error("the daemon was not started");
    return daemon;
  };
}

/** An entry of `[[processes]]` for the test's process, in a mode of it. */
function entry(name: string, ...mode: readonly string[]): object {
  return { name, command: [process.execPath, HANDLER_PROCESS, ...mode] };
}

async function pidOf(daemon: TestDaemon, name = "pid"): Promise<number> {
  const { body } = await ask(daemon, name);
  expect(body).toHaveProperty("pid");
  return Number(body["pid"]);
}

/** Processes without a daemon around them. */
function deployedProcesses(one: object, log: ProcessLog = SILENT): DeployedProcesses {
  const defaults = { count: 1, concurrency: 16, env: {}, cwd: "." };
  const processes = new DeployedProcesses({
    processes: [{ ...defaults, ...(one as Pick<ProcessConfig, "name" | "command">) }],
    ...{ directory: ".", file: "agtp-server.toml", env: {}, log, house: openProcessHouse() },
    ...{ maxLineBytes: 1_048_576, handlerTimeoutMs: 30_000 },
  });
  onTestFinished(() => processes.close());
  return processes;
}

const SILENT: ProcessLog = {
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

async function check(files: DeploymentFiles): Promise<readonly string[]> {
  const { configPath } = makeDeployment(files);
  const sink = { write: () => undefined, flush: () => Promise.resolve() };
  const log = createLog("silent", sink);
  const problems = await checkDeployment({ configPath, env: {}, log });
  return problems
    .filter(({ severity }) => severity !== "warning")
    .map(({ file, key, message, hint }) => `${file}: ${key}: ${message} ${hint ?? ""}`.trim());
}

// formats §14
const RECIPE = `[[recipe]]
name = "r"
version = "1"
description = "One step."
[recipe.pattern]
method_exact = "AUDIT"
[[recipe.steps]]
method = "QUERY"
path = "/echos"
capture_as = "said"
`;

describe("a function of a process", () => {
  const functions = [
    "echo",
    "refuse",
    "created",
    "absent",
    "fail",
    "undeclared",
    "nonsense",
    "log",
    "long",
  ];
  const daemon = shareDaemon(
    filesOf([...functions, "dispatch", "stranger", "unknown"], {
      tables: {
        agentcli: {
          ...{ manifests: ["m.json"], expose: ["w1"], prompt_runtime: "agntcy:/clerks" },
        },
        openwop: { runtime: { kind: "function", function: "rooms:reply" } },
      },
      files: {
        "endpoints/scoped.toml": endpointFile({
          ...{ method: "QUERY", path: "/vaults", required_scopes: ["vault:open"] },
          handler: { type: "registered_function", function: "rooms:echo" },
        }),
        "recipes/r.toml": RECIPE,
        "endpoints/audit.toml": endpointFile({
          ...{ method: "AUDIT", path: "/reviews", errors: ["composition_failed"] },
          handler: { type: "composition", recipe: "r" },
        }),
        "m.json": JSON.stringify(manifestOf([promptTask()])),
        "endpoints/clerk.toml": endpointFile({
          ...{ method: "EXECUTE", path: "/clerks", properties: { input: { type: "string" } } },
          handler: { type: "registered_function", function: "rooms:echo" },
        }),
        ...packFiles({}),
      },
    }),
  );

  const send = async (method: string, path: string, body: object): Promise<TestReply> => {
    return askOnce(daemon(), { method, path, headers, body });
  };

  // RFC 8259 §6
  it("answers with numbers as the process wrote them, also those that no double has", async () => {
    const { status, text } = await ask(daemon(), "long");
    expect(status).toBe(200);
    expect(text).toContain('{"id":9007199254740993,"far":1e400}');
  });

  it("is told of the call, and its result is the answer", async () => {
    const { status, body } = await ask(daemon(), "echo", { text: "hello" });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      function: "echo",
      input: { text: "hello" },
      agent: { agent_id: AGENT, name: "alma", scopes: ["runs:create"] },
      principal: null,
      method: "QUERY",
      path: "/echos",
    });
    expect(body["deadline_ms"]).toBeGreaterThan(1_000);
    expect(body["deadline_ms"]).toBeLessThanOrEqual(30_000);
    expect(JSON.parse(JSON.stringify(body["agent"])).trust_tier).toEqual(expect.any(Number));
  });

  it("answers with a declared error, and with a status and headers", async () => {
    expect(await ask(daemon(), "refuse")).toMatchObject({
      status: 422,
      body: {
        error: { code: "room_unavailable", message: "none left", details: { nights: 2 } },
      },
    });
    const created = await ask(daemon(), "created");
    expect(created.status).toBe(202);
    expect(created.headers.get("x-made")).toBe("yes");
  });

  it("may write null for what is absent", async () => {
    const { status, body } = await ask(daemon(), "absent", { text: "hello" });
    expect({ status, body }).toEqual({
      status: 200,
      body: { input: { text: "hello" }, status: 200 },
    });
  });

  it.each(["fail", "undeclared", "nonsense"])(
    "that does as %s is a fault: opaque to the caller, told to the log",
    async (name) => {
      const from = daemon().log.length;
      const reply = await ask(daemon(), name);
      expect(reply.status).toBe(500);
      expect(reply.text).not.toMatch(/secret detail|never_declared/);
      const told = logged(daemon(), from);
      expect(told).toMatch(/secret detail|never_declared|result is no object/);
      expect(told).toContain(
        String(JSON.parse(reply.text).error.details?.error_id ?? JSON.parse(reply.text).error_id),
      );
    },
  );

  it("dispatches as the agent of its call, through the gates", async () => {
    const inner = { method: "QUERY", path: "/echos", input: { text: "again" } };
    expect(await ask(daemon(), "dispatch", inner)).toMatchObject({
      status: 200,
      body: { status: 200, body: { input: { text: "again" }, agent: { agent_id: AGENT } } },
    });
    const locked = await ask(daemon(), "dispatch", { method: "QUERY", path: "/vaults", input: {} });
    expect(locked.body).toMatchObject({ status: 455 });
    expect((await ask(daemon(), "stranger")).body).toMatchObject({ refused: { code: -32602 } });
    expect((await ask(daemon(), "unknown")).body).toMatchObject({ refused: { code: -32601 } });
  });

  it("logs under its call, and what it writes to standard error is a line each", async () => {
    expect((await ask(daemon(), "log")).status).toBe(200);
    await vi.waitFor(
      () => expect(logged(daemon())).toContain("a line of standard error"),
      PATIENCE,
    );
    const { log } = daemon();
    const line = log.find(({ message }) => message === "few rooms");
    expect(line).toMatchObject({ level: "warn", left: 2, process: "rooms", agent_id: AGENT });
    expect(line).toHaveProperty("level_", "x");
    expect(log.find(({ message }) => message === "at large")).not.toHaveProperty("agent_id");
  });

  it("is a step of a composition", async () => {
    const reply = await send("AUDIT", "/reviews", {});
    expect(reply.status).toBe(200);
    expect(reply.text).toContain('"function":"echo"');
  });

  it("answers the prompt of an exposed task", async () => {
    const { status, body } = await send("EXECUTE", "/workflows/wf:w1/task:t1", {});
    expect(status).toBe(200);
    expect(body).toMatchObject({
      ok: true,
      source: { workflow_id: "w1", task_id: "t1" },
      runtime: {
        ...{ path: "/clerks", status: 200 },
        body: { function: "echo", input: { input: "hello" }, agent: { agent_id: AGENT } },
      },
    });
  });

  it("takes the turns of OpenWOP agents", async () => {
    const task = { look: true };
    const { status, body } = await send("EXECUTE", "/agents/vendor.test.pack.agent", {
      ...{ task, wait_seconds: 10 },
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({ status: "completed", result: { task, by: "reply" } });
  });

  it("has the environment that it is given, PATH, HOME, LANG and TZ, and no other", async () => {
    const deployed = { env: { DB: "the-database" } };
    const deployment = makeDeployment(filesOf(["pid"], deployed));
    const env = { HOME: "/tmp", PATH: process.env["PATH"], TZ: "UTC", SECRET: "x" };
    const other = await createDaemon(deployment, env);
    onTestFinished(() => other.close());
    const { body } = await ask(other, "pid");
    expect(body["env"]).toEqual(["DB", "HOME", "PATH", "TZ"]);
    expect(body["cwd"]).toBe(deployment.directory);
  });
});

describe("a process that misbehaves", () => {
  const strays = ["twice", "nobody", "garbage"];
  const ends = ["die", "half", "huge", "closed", "greedy"];
  const daemon = shareDaemon(
    filesOf(
      [
        ...strays.map((name) => `${name}:${name}`),
        ...ends.flatMap((name) => [name, "pid", "hang"].map((one) => `${name}:${one}`)),
      ],
      { tables: { processes: [...strays, ...ends].map((name) => entry(name)) } },
    ),
  );

  it.each([
    ["twice", "answers a call that there is not"],
    ["nobody", "answers a call that there is not"],
    ["garbage", "is no JSON object"],
  ])("%s: the line is logged and dropped, the call is answered", async (name, reason) => {
    const { status, body } = await ask(daemon(), `${name}-${name}`);
    expect(status).toBe(200);
    expect(body).toEqual(name === "twice" ? { first: true } : { ok: true });
    const lines = () =>
      daemon().log.filter((line) => line["event"] === "process-stray" && line["process"] === name);
    await vi.waitFor(() => expect(JSON.stringify(lines())).toContain(reason), PATIENCE);
    const [line] = lines();
    expect(line).toMatchObject({ level: "warn" });
    expect(String(line?.["line"]).length).toBeLessThanOrEqual(200);
  });

  it.each([
    ["die", /ended with code 3/],
    ["half", /ended with code 0/],
    ["huge", /wrote a line of more than 1048576 bytes/],
    ["closed", /has closed its standard output/],
    ["greedy", /asks without reading the answers/],
  ])("%s: its calls fail, opaquely, and it is started again", async (name, reason) => {
    const before = await pidOf(daemon(), `${name}-pid`);
    const other = ask(daemon(), `${name}-hang`);
    const reply = await ask(daemon(), `${name}-${name}`);
    expect(reply.status).toBe(500);
    expect(reply.text).not.toMatch(reason);
    expect((await other).status).toBe(500);
    const after = await pidOf(daemon(), `${name}-pid`);
    expect(after).not.toBe(before);
    const line = daemon().log.find(
      ({ event, process }) => event === "process-ended" && process === name,
    );
    expect(line).toMatchObject({ level: "error" });
    expect(String(line?.["message"])).toMatch(reason);
    await vi.waitFor(() => expect(isAlive(before)).toBe(false), PATIENCE);
  });

  it("eats memory until it is ended: its call fails, and others are served", async () => {
    const command = [process.execPath, "--max-old-space-size=32", HANDLER_PROCESS];
    const files = filesOf(["memory", "echo"], {
      tables: { processes: [{ name: "rooms", command, count: 2, concurrency: 1 }] },
    });
    const daemon = await openDaemon(files);
    const [eaten, served] = await Promise.all([ask(daemon, "memory"), ask(daemon, "echo")]);
    expect([eaten.status, served.status]).toEqual([500, 200]);
    expect((await ask(daemon, "echo")).status).toBe(200);
  });

  it("leaves nothing that it has started, whatever that does with SIGTERM", async () => {
    const daemon = await openDaemon(filesOf(["fork", "die"]));
    const { body } = await ask(daemon, "fork");
    const pid = Number(body["pid"]);
    expect(isAlive(pid)).toBe(true);
    expect((await ask(daemon, "die")).status).toBe(500);
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false), PATIENCE);
  });

  it("ignores SIGTERM: it is ended all the same", async () => {
    const daemon = await openDaemon(filesOf(["pid"], { mode: ["immortal"] }));
    const pid = await pidOf(daemon);
    await daemon.daemon.drain();
    expect(isAlive(pid)).toBe(false);
  });

  it("exits in a loop: it is started again at longer and longer intervals", async () => {
    const daemon = await openDaemon(filesOf(["echo"], { mode: ["loop"] }));
    for (const _ of [1, 2, 3]) expect((await ask(daemon, "echo")).status).toBe(500);
    const pauses = daemon.log
      .filter(({ event }) => event === "process-ended")
      .map(({ message }) => Number(/again in (\d+) ms/.exec(String(message))?.[1]));
    expect(pauses).toEqual([100, 200, 400]);
  });

  it("that is not to be started soon fails its calls at once", async () => {
    const deployment = makeDeployment();
    const mark = join(deployment.directory, "was-there");
    const daemon = await openDaemon(filesOf(["die", "echo"], { mode: ["once", mark] }));
    expect((await ask(daemon, "die")).status).toBe(500);
    await vi.waitFor(() => expect(logged(daemon)).toContain("again in 1600 ms"), PATIENCE);
    expect((await ask(daemon, "echo")).status).toBe(500);
    expect(logged(daemon)).toContain("is not there");
  });

  it("floods the log: so much of it is logged, and it is told how much is not", async () => {
    const daemon = await openDaemon(filesOf(["noise"]));
    const began = performance.now();
    expect((await ask(daemon, "noise")).body).toEqual({ ok: true });
    const told = (): number =>
      daemon.log
        .filter(({ event }) => event === "process-output-dropped")
        .reduce((total, { lines }) => total + Number(lines), 0);
    const logged = (): number =>
      daemon.log.filter(({ event }) => event === "process-output" || event === "process-log")
        .length;
    await vi.waitFor(() => expect(logged() + told()).toBe(80_000), PATIENCE);
    // A mebibyte of a second's lines is logged, of which the shortest has 128 octets.
    const seconds = Math.ceil((performance.now() - began) / 1_000) + 1;
    expect(logged()).toBeLessThanOrEqual(seconds * 8_192);
    expect(told()).toBeGreaterThan(0);
    const [line] = daemon.log.filter(({ event }) => event === "process-output-dropped");
    expect(line).toMatchObject({ level: "warn", process: "rooms" });
  });

  it("floods its standard output: everybody is served meanwhile", async () => {
    const daemon = await openDaemon(filesOf(["flood"]));
    const flooding = ask(daemon, "flood");
    const client = await daemon.connect();
    client.write(encodeRequest({ method: "DISCOVER", path: "/", headers: {} }));
    expect((await client.replies(1))[0]?.status).toBe(200);
    expect((await flooding).body).toEqual({ ok: true });
    const strays = daemon.log.filter(({ event }) => event === "process-stray");
    expect(strays.length).toBeGreaterThan(0);
    expect(strays.length).toBeLessThan(100);
  });
});

describe("a call that is over before its function answers", () => {
  it("is answered at its deadline, and the function is told", async () => {
    const tables = { limits: { handler_timeout_ms: 300 } };
    const daemon = await openDaemon(filesOf(["hang", "pid"], { tables }));
    const before = await pidOf(daemon);
    const reply = await ask(daemon, "hang");
    expect(reply).toMatchObject({ status: 500, body: { error: { code: "handler-timeout" } } });
    // It has answered what was cancelled, and lives.
    expect(await pidOf(daemon)).toBe(before);
    const line = daemon.log.find(({ message }) => message === "let go");
    expect(line).toMatchObject({ agent_id: AGENT, endpoint: "QUERY /hangs" });
    await vi.waitFor(() => expect(logged(daemon)).not.toContain("process-ended"), PATIENCE);
  });

  it("ends a process that does not answer it even then", async () => {
    const tables = { limits: { handler_timeout_ms: 300 } };
    const daemon = await openDaemon(filesOf(["stuck", "pid"], { tables, mode: ["immortal"] }));
    const before = await pidOf(daemon);
    expect((await ask(daemon, "stuck")).body).toMatchObject({ error: { code: "handler-timeout" } });
    await vi.waitFor(
      () => expect(logged(daemon)).toContain("did not answer a cancelled call"),
      PATIENCE,
    );
    await vi.waitFor(async () => expect(await pidOf(daemon)).not.toBe(before), PATIENCE);
    await vi.waitFor(() => expect(isAlive(before)).toBe(false), PATIENCE);
  });
});

describe("calls at once", () => {
  it("are so many in each process, and the others wait", async () => {
    const daemon = await openDaemon(filesOf(["slow"], { count: 2, concurrency: 1 }));
    const replies = await Promise.all(
      Array.from({ length: 6 }, () => ask(daemon, "slow", { ms: 200 })),
    );
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(new Set(replies.map(({ body }) => body["pid"])).size).toBe(2);
  });

  it("lend their place to what they dispatch to their own process, however deep", async () => {
    const tables = { limits: { handler_timeout_ms: 2_000 } };
    const daemon = await openDaemon(filesOf(["echo", "dispatch"], { tables, concurrency: 2 }));
    const echo = { method: "QUERY", path: "/echos", input: { text: "deep" } };
    const deep = { method: "QUERY", path: "/dispatchs", input: echo };
    const replies = await Promise.all(
      Array.from({ length: 12 }, (_, index) => ask(daemon, "dispatch", index % 2 ? echo : deep)),
    );
    expect(replies.map(({ status }) => status)).toEqual(Array(12).fill(200));
    for (const { text } of replies) expect(text).toContain('"text":"deep"');
  });

  it("lend it to what another agent does for them", async () => {
    const other = "cd".repeat(32);
    const files = {
      "agents/otto.agent.json": agentFile({ agent_id: other, name: "otto", scopes_accepted: [] }),
    };
    const tables = { limits: { handler_timeout_ms: 2_000 } };
    const deployed = { concurrency: 1, tables, files };
    const daemon = await openDaemon(filesOf(["echo", "dispatch"], deployed));
    const task = { method: "QUERY", path: "/echos", parameters: { text: "for alma" } };
    const input = { target_agent_id: other, task, authority_scope: [] };
    const { status, text } = await ask(daemon, "dispatch", {
      method: "DELEGATE",
      path: "/",
      input,
    });
    expect([status, text]).toEqual([200, expect.stringContaining('"text":"for alma"')]);
  });

  it("lend it once at a time, and the next waits for it", async () => {
    const daemon = await openDaemon(filesOf(["slow", "both"], { concurrency: 1 }));
    const slow = { method: "QUERY", path: "/slows", input: { ms: 150 } };
    const { body } = await ask(daemon, "both", slow);
    expect(body).toMatchObject({ answers: [{ status: 200 }, { status: 200 }], most: 1 });
  });
});

describe("a process that cannot be had", () => {
  const cases: readonly (readonly [name: string, problem: string])[] = [
    ["exit", 'process "exit" ended with code 4: no module named booking'],
    [
      "traceback",
      'process "traceback" ended with code 1: SyntaxError: invalid syntax it wrote before: File "booking.py", line 74 | def ( | ^',
    ],
    [
      "quits",
      'process "quits" ended with code 0 before its hello it has to say hello, and to serve until its standard input ends; in Python, run() has to be called',
    ],
    ["old", 'process "old" speaks protocol 99, expected 1'],
    ["nameless", 'process "nameless" said hello without a list of its functions'],
    [
      "none",
      'process "none" cannot be started: there is no program "no-such-program", or no such directory',
    ],
  ];

  it("is a problem of the start, and one of each endpoint that names it", async () => {
    const names = cases.map(([name]) => name);
    const processes = names.map((name) =>
      name === "none" ? { name, command: ["no-such-program"] } : entry(name, name),
    );
    const functions = names.map((name) => `${name}:echo`);
    const problems = await check(filesOf(functions, { tables: { processes } }));
    expect(problems).toEqual([
      ...cases.map(([, problem], at) => `agtp-server.toml: processes[${at}].command: ${problem}`),
      ...names
        .toSorted()
        .map(
          (name) =>
            `endpoints/${name}-echo.toml: endpoint.handler.function: process "${name}" could not be started`,
        ),
    ]);
  });

  it("is told apart from the program that its first line names", async () => {
    const program = join(makeDeployment({ "run.sh": "#!/no/such/shell\n" }).directory, "run.sh");
    chmodSync(program, 0o755);
    expect(await deployedProcesses({ name: "rooms", command: [program] }).start()).toEqual([
      expect.objectContaining({
        message: `process "rooms" cannot be started: what runs "${program}" is not there (see its first line, #!)`,
      }),
    ]);
  });

  it("is looked for in its directory, which is told apart from the program", async () => {
    const processes = [{ ...entry("rooms"), cwd: "no-such-directory" }];
    expect(await check(filesOf(["echo"], { tables: { processes } }))).toEqual([
      expect.stringMatching(
        /^agtp-server\.toml: processes\[0\]\.cwd: ".*\/no-such-directory" does not exist$/,
      ),
      'endpoints/echo.toml: endpoint.handler.function: process "rooms" could not be started',
    ]);
  });

  it.each([
    ["mute", "no whole line came from its standard output (is each one flushed?)"],
    [
      "untold",
      'the last line of its standard output is no JSON-RPC 2.0: "{\\"method\\":\\"hello\\"}"',
    ],
  ])("says no hello in ten seconds: %s", async (mode, reason) => {
    let hear = (): void => undefined;
    const stray = new Promise<void>((resolve) => {
      hear = resolve;
    });
    if (mode === "mute") hear();
    const processes = deployedProcesses(entry("rooms", mode), { ...SILENT, warn: () => hear() });
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    let problems: readonly Problem[] | undefined;
    void processes.start().then((found) => {
      problems = found;
    });
    await stray;
    await vi.advanceTimersByTimeAsync(9_999);
    expect(problems).toBeUndefined();
    await vi.advanceTimersByTimeAsync(1);
    await vi.waitFor(() => expect(problems).toBeDefined(), PATIENCE);
    expect(problems).toEqual([
      expect.objectContaining({ message: `process "rooms" said no hello within 10 s: ${reason}` }),
    ]);
  });

  it("leaves everything else served", async () => {
    const files = {
      "endpoints/other.toml": endpointFile({ method: "QUERY", path: "/others" }),
      "handlers.mjs": "export const echo = () => ({ body: {} });",
    };
    const daemon = await openDaemon(filesOf(["echo"], { mode: ["exit"], files }));
    expect((await ask(daemon, "other")).status).toBe(200);
    expect((await ask(daemon, "echo")).status).toBe(404);
  });

  it("names the function or the process that is meant", async () => {
    const endpoint = (name: string, reference: string): DeploymentFiles => ({
      [`endpoints/${name}.toml`]: endpointFile({
        ...{ method: "QUERY", path: `/${name}` },
        handler: { type: "registered_function", function: reference },
      }),
    });
    const files = { ...endpoint("ones", "rooms:ecco"), ...endpoint("twos", "room:echo") };
    expect(await check(filesOf([], { files }))).toEqual([
      'endpoints/ones.toml: endpoint.handler.function: process "rooms" has no function "ecco" did you mean echo?',
      'endpoints/twos.toml: endpoint.handler.function: no [[processes]] has the name "room" did you mean rooms?',
    ]);
  });
});

describe("what a function says of its parameters", () => {
  const fitting = {
    input: { properties: { nights: { type: "number" }, guest: {} }, required: ["nights"] },
    output: { properties: { total: { type: "integer" } }, required: ["total"] },
  };
  const unfitting: readonly (readonly [signature: object, problem: string])[] = [
    [
      { input: { properties: { days: {} } } },
      'takes a parameter "days", which input_schema does not have',
    ],
    [
      { input: { properties: { guest: {} }, required: ["guest"] } },
      'needs the parameter "guest", which input_schema does not require',
    ],
    [
      { input: { properties: { nights: { type: "string" } } } },
      'takes string for "nights", and input_schema lets integer through',
    ],
    [
      { input: { properties: { guest: { type: "string" } } } },
      'takes string for "guest", and input_schema lets null through',
    ],
    [{ output: { properties: {} } }, 'may not return "total", which output_schema requires'],
    [
      { output: { properties: { total: { type: "string" } }, required: ["total"] } },
      'returns string as "total", and output_schema wants integer or number',
    ],
  ];

  it("goes with the schemas of its endpoint, or is a problem of it", async () => {
    const signatures = [fitting, ...unfitting.map(([signature]) => signature)];
    const processes = signatures.map((one, at) => entry(`p${at}`, "signed", JSON.stringify(one)));
    const endpoints = signatures.map((_, at) => [
      `endpoints/e${at}.toml`,
      endpointFile({
        ...{ method: "QUERY", path: `/e${at}`, required: ["nights"] },
        properties: { nights: { type: "integer" }, guest: { type: ["string", "null"] } },
        output_schema: {
          type: "object",
          required: ["total"],
          properties: { total: { type: "number" } },
        },
        handler: { type: "registered_function", function: `p${at}:echo` },
      }),
    ]);
    const files = filesOf([], { tables: { processes }, files: Object.fromEntries(endpoints) });
    const place = (at: number) => `endpoints/e${at + 1}.toml: endpoint.handler.function`;
    expect(await check(files)).toEqual(
      unfitting.map(([, problem], at) =>
        expect.stringContaining(`${place(at)}: the function ${problem}`),
      ),
    );
  });
});

describe("the processes of a daemon", () => {
  it("are started by --check, which leaves none", async () => {
    const deployment = makeDeployment();
    const mark = join(deployment.directory, "pid");
    const script = `import { writeFileSync } from "node:fs"; writeFileSync(${JSON.stringify(mark)}, String(process.pid)); await import(${JSON.stringify(HANDLER_PROCESS)});`;
    writeFileSync(join(deployment.directory, "noted.mjs"), script);
    const command = [process.execPath, join(deployment.directory, "noted.mjs")];
    const tables = { processes: [{ name: "rooms", command }] };
    expect(await check(filesOf(["echo"], { tables }))).toEqual([]);
    const { readFileSync } = await import("node:fs");
    expect(isAlive(Number(readFileSync(mark, "utf8")))).toBe(false);
  });

  it("are replaced by a reload, which starts the new ones first and ends the old with their calls", async () => {
    const daemon = await openDaemon(filesOf(["pid", "held"]));
    const before = await pidOf(daemon);
    const client = await daemon.connect();
    const request = { method: "QUERY", path: "/helds", headers, body: {} };
    client.write(encodeRequest(request));
    await pidOf(daemon);
    expect(await daemon.daemon.reload()).toEqual([]);
    const after = await pidOf(daemon);
    expect(after).not.toBe(before);
    process.kill(before, "SIGUSR2");
    expect((await client.replies(1))[0]?.status).toBe(200);
    await vi.waitFor(() => expect(isAlive(before)).toBe(false), PATIENCE);
    expect(logged(daemon)).not.toContain("process-ended");
  });

  it("stay as they are when a reload is refused", async () => {
    const daemon = await openDaemon(filesOf(["pid"]));
    const before = await pidOf(daemon);
    writeFileSync(join(daemon.directory, "agtp-server.toml"), processConfig(["exit"]));
    expect(await daemon.daemon.reload()).not.toEqual([]);
    expect(await pidOf(daemon)).toBe(before);
  });

  it("are looked at by a reload whose configuration is refused, and are gone then", async () => {
    const daemon = await openDaemon(filesOf(["pid"]));
    const before = [await pidOf(daemon), ...listChildren()];
    const file = join(daemon.directory, "agtp-server.toml");
    writeFileSync(file, processConfig(["traceback"], {}, { server: { prot: 1 } }));
    const keysOf = async () => (await daemon.daemon.reload()).map(({ key }) => key);
    expect(await keysOf()).toEqual([
      ...["server.prot", "processes[0].command", "endpoint.handler.function"],
    ]);
    writeFileSync(file, processConfig([], {}, { server: { prot: 1 } }));
    expect(await keysOf()).toEqual(["server.prot"]);
    expect([await pidOf(daemon), ...listChildren()]).toEqual(before);
  });

  it("are gone when it has drained", async () => {
    const daemon = await openDaemon(filesOf(["pid", "fork"]));
    const pid = await pidOf(daemon);
    const { body } = await ask(daemon, "fork");
    await daemon.daemon.drain();
    expect([isAlive(pid), isAlive(Number(body["pid"]))]).toEqual([false, false]);
  });
});

// formats §14, OpenWOP RFC 0002
describe("a runtime of OpenWOP agents", () => {
  it("is a function of a process", async () => {
    const report: string[] = [];
    const log = {
      info: () => undefined,
      warn: (fields: object) => void report.push(JSON.stringify(fields)),
      error: () => undefined,
    };
    const processes = deployedProcesses(entry("rooms"), log);
    expect(await processes.start()).toEqual([]);
    const found = processes.find("rooms", "turn");
    if (found.call === undefined) throw new Error(found.fault);
    const called: unknown[] = [];
    const runtime = createFunctionRuntime({
      take: createProcessTurn(found.call, log),
      onFault: (error) => void report.push(String(error)),
    });
    const reasoning = { add: async () => undefined, close: async () => undefined };
    const turn: RuntimeTurn = {
      agent: { agentId: "vendor.clerk", persona: "Clerk", modelClass: "reasoning" },
      ...{ owner: "alma", prompt: "", task: { look: true }, tools: [], returnSchema: undefined },
      ...{ history: [], options: {}, signal: new AbortController().signal },
      reasoning: { ...reasoning, say: async () => undefined },
      callTool: async (...asked) => {
        called.push(asked);
        return { kind: "returned", outcome: { free: 3 } };
      },
    };
    expect(await runtime.takeTurn(turn)).toMatchObject({
      kind: "answered",
      result: { task: turn.task, answer: { status: 200, body: { free: 3 } } },
    });
    expect(called).toEqual([["agtp:QUERY /rooms", { nights: 2 }]]);
    expect(report).toEqual([]);
  });

  it("lends the place of a turn to the tools that its own process is", async () => {
    const tables = {
      openwop: { runtime: { kind: "function", function: "rooms:turn" } },
      limits: { handler_timeout_ms: 4_000 },
    };
    const files = {
      "endpoints/rooms.toml": endpointFile({
        ...{ method: "QUERY", path: "/rooms", properties: { nights: {} } },
        handler: { type: "registered_function", function: "rooms:echo" },
      }),
      ...packFiles({ agents: [{ toolAllowlist: ["agtp:QUERY /rooms"] }] }),
    };
    const daemon = await openDaemon(filesOf([], { concurrency: 1, tables, files }));
    const path = "/agents/vendor.test.pack.agent";
    const body = { task: "look", wait_seconds: 60 };
    const reply = await askOnce(daemon, { method: "EXECUTE", path, headers, body });
    expect(reply?.body).toMatchObject({
      status: "completed",
      result: { task: "look", answer: { status: 200, body: { input: { nights: 2 } } } },
    });
  });
});

describe("the metrics", () => {
  it("have the restarts of processes, and the time of their calls", async () => {
    const registry = new Registry();
    onTestFinished(measureProcesses(registry));
    const daemon = await openDaemon(filesOf(["die", "echo"]));
    await ask(daemon, "die");
    await ask(daemon, "echo");
    const text = await registry.metrics();
    expect(text).toContain('agtp_process_restarts_total{process="rooms"} 1');
    expect(text).toMatch(/_seconds_count\{process="rooms",answered="true"\} 1/);
    expect(text).toMatch(/_seconds_count\{process="rooms",answered="false"\} 1/);
  });
});
