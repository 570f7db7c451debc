/** Functions of processes behind a daemon, over TLS, with real processes.   docs/processes.md */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { Registry } from "prom-client";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { checkDeployment } from "../../src/app/daemon.ts";
import { createLog } from "../../src/base/log.ts";
import {
  DeployedProcesses,
  openProcessHouse,
} from "../../src/handlers/processes/deployed-processes.ts";
import type { RuntimeTurn } from "../../src/modules/openwop/runtime/agent-runtime.ts";
import { createFunctionRuntime } from "../../src/modules/openwop/runtime/function-runtime.ts";
import { createProcessTurn } from "../../src/modules/openwop/runtime/load-runtime.ts";
import { measureProcesses } from "../../src/server/process-metrics.ts";
import { createDaemon, openDaemon, type TestDaemon } from "../support/daemon.ts";
import {
  agentFile,
  type DeploymentFiles,
  endpointFile,
  makeDeployment,
} from "../support/deployment.ts";
import { encodeRequest, type TestReply } from "../support/dispatch.ts";
import {
  HANDLER_PROCESS,
  isAlive,
  type ProcessEntry,
  processConfig,
  processEndpoints,
} from "../support/processes.ts";

const AGENT = "ab".repeat(32);
const headers = { "Agent-ID": AGENT };
const AGENTS = {
  "agents/alma.agent.json": agentFile({ agent_id: AGENT, name: "alma" }),
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
  const client = await daemon.connect();
  client.write(encodeRequest({ method: "QUERY", path: `/${name}s`, headers, body }));
  const [reply] = await client.replies(1);
  client.destroy();
  if (reply === undefined) throw new Error("the connection was closed");
  return reply;
}

/** Every line so far, as text. */
function logged({ log }: TestDaemon): string {
  return log.map((line) => JSON.stringify(line)).join("\n");
}

async function pidOf(daemon: TestDaemon): Promise<number> {
  const { body } = await ask(daemon, "pid");
  expect(body).toHaveProperty("pid");
  return Number(body["pid"]);
}

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
describe("a function of a process", () => {
  it("is told of the call, and its result is the answer", async () => {
    const daemon = await openDaemon(filesOf(["echo"]));
    const { status, body } = await ask(daemon, "echo", { text: "hello" });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      function: "echo",
      input: { text: "hello" },
      agent: { agent_id: AGENT, name: "alma", scopes: [] },
      principal: null,
      method: "QUERY",
      path: "/echos",
    });
    expect(body["deadline_ms"]).toBeGreaterThan(1_000);
    expect(body["deadline_ms"]).toBeLessThanOrEqual(30_000);
    expect(JSON.parse(JSON.stringify(body["agent"])).trust_tier).toEqual(expect.any(Number));
  });

  it("answers with a declared error, and with a status and headers", async () => {
    const daemon = await openDaemon(filesOf(["refuse", "created"]));
    expect(await ask(daemon, "refuse")).toMatchObject({
      status: 422,
      body: {
        error: { code: "room_unavailable", message: "none left", details: { nights: 2 } },
      },
    });
    const created = await ask(daemon, "created");
    expect(created.status).toBe(202);
    expect(created.headers.get("x-made")).toBe("yes");
  });

  it.each(["fail", "undeclared", "nonsense"])(
    "that does as %s is a fault: opaque to the caller, told to the log",
    async (name) => {
      const daemon = await openDaemon(filesOf([name]));
      const reply = await ask(daemon, name);
      expect(reply.status).toBe(500);
      expect(reply.text).not.toMatch(/secret detail|never_declared/);
      expect(logged(daemon)).toMatch(/secret detail|never_declared|result is no object/);
      expect(logged(daemon)).toContain(
        String(JSON.parse(reply.text).error.details?.error_id ?? JSON.parse(reply.text).error_id),
      );
    },
  );

  it("has the environment that it is given, PATH, HOME, LANG and TZ, and no other", async () => {
    const deployed = { env: { DB: "the-database" } };
    const deployment = makeDeployment(filesOf(["pid"], deployed));
    const env = { HOME: "/tmp", PATH: process.env["PATH"], TZ: "UTC", SECRET: "x" };
    const daemon = await createDaemon(deployment, env);
    onTestFinished(() => daemon.close());
    const { body } = await ask(daemon, "pid");
    expect(body["env"]).toEqual(["DB", "HOME", "PATH", "TZ"]);
    expect(body["cwd"]).toBe(deployment.directory);
  });

  it("dispatches as the agent of its call, through the gates", async () => {
    const files = {
      "endpoints/scoped.toml": endpointFile({
        ...{ method: "QUERY", path: "/vaults", required_scopes: ["vault:open"] },
        handler: { type: "registered_function", function: "rooms:echo" },
      }),
    };
    const daemon = await openDaemon(
      filesOf(["dispatch", "echo", "stranger", "unknown"], { files }),
    );
    const inner = { method: "QUERY", path: "/echos", input: { text: "again" } };
    expect(await ask(daemon, "dispatch", inner)).toMatchObject({
      status: 200,
      body: { status: 200, body: { input: { text: "again" }, agent: { agent_id: AGENT } } },
    });
    const locked = await ask(daemon, "dispatch", { method: "QUERY", path: "/vaults", input: {} });
    expect(locked.body).toMatchObject({ status: 455 });
    expect((await ask(daemon, "stranger")).body).toMatchObject({ refused: { code: -32602 } });
    expect((await ask(daemon, "unknown")).body).toMatchObject({ refused: { code: -32601 } });
  });

  it("logs under its call, and what it writes to standard error is a line each", async () => {
    const daemon = await openDaemon(filesOf(["log"]));
    expect((await ask(daemon, "log")).status).toBe(200);
    await vi.waitFor(() => expect(logged(daemon)).toContain("a line of standard error"));
    const line = daemon.log.find(({ message }) => message === "few rooms");
    expect(line).toMatchObject({ level: "warn", left: 2, process: "rooms", agent_id: AGENT });
    expect(daemon.log.find(({ message }) => message === "at large")).not.toHaveProperty("agent_id");
  });

  it("is a step of a composition", async () => {
    const recipe = `[[recipe]]\nname = "r"\nversion = "1"\ndescription = "Two steps."\n[recipe.pattern]\nmethod_exact = "AUDIT"\n[[recipe.steps]]\nmethod = "QUERY"\npath = "/echos"\ncapture_as = "said"\n`;
    const files = {
      "recipes/r.toml": recipe,
      "endpoints/audit.toml": endpointFile({
        ...{ method: "AUDIT", path: "/reviews", errors: ["composition_failed"] },
        handler: { type: "composition", recipe: "r" },
      }),
    };
    const daemon = await openDaemon(filesOf(["echo"], { files }));
    const client = await daemon.connect();
    client.write(encodeRequest({ method: "AUDIT", path: "/reviews", headers, body: {} }));
    const [reply] = await client.replies(1);
    expect(reply?.status).toBe(200);
    expect(reply?.text).toContain('"function":"echo"');
  });
});

describe("a process that misbehaves", () => {
  it.each([
    ["twice", "answers a call that there is not"],
    ["nobody", "answers a call that there is not"],
    ["garbage", "is no JSON object"],
  ])("%s: the line is logged and dropped, the call is answered", async (name, reason) => {
    const daemon = await openDaemon(filesOf([name]));
    const { status, body } = await ask(daemon, name);
    expect(status).toBe(200);
    expect(body).toEqual(name === "twice" ? { first: true } : { ok: true });
    await vi.waitFor(() => expect(logged(daemon)).toContain(reason));
    const line = daemon.log.find(({ event }) => event === "process-stray");
    expect(line).toMatchObject({ level: "warn", process: "rooms" });
    expect(String(line?.["line"]).length).toBeLessThanOrEqual(200);
  });

  it.each([
    ["die", /ended with code 3/],
    ["half", /ended with code 0/],
    ["huge", /wrote a line of more than 1048576 bytes/],
    ["closed", /has closed its standard output/],
    ["greedy", /asks without reading the answers/],
  ])("%s: its calls fail, opaquely, and it is started again", async (name, reason) => {
    const daemon = await openDaemon(filesOf([name, "pid", "hang"]));
    const before = await pidOf(daemon);
    const other = ask(daemon, "hang");
    const reply = await ask(daemon, name);
    expect(reply.status).toBe(500);
    expect(reply.text).not.toMatch(reason);
    expect((await other).status).toBe(500);
    const after = await pidOf(daemon);
    expect(after).not.toBe(before);
    const line = daemon.log.find(({ event }) => event === "process-ended");
    expect(line).toMatchObject({ level: "error", process: "rooms" });
    expect(String(line?.["message"])).toMatch(reason);
    await vi.waitFor(() => expect(isAlive(before)).toBe(false), { timeout: 10_000 });
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
    await vi.waitFor(() => expect(isAlive(pid)).toBe(false));
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
    await vi.waitFor(() => expect(logged(daemon)).toContain("again in 1600 ms"), 10_000);
    expect((await ask(daemon, "echo")).status).toBe(500);
    expect(logged(daemon)).toContain("is not there");
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
    await vi.waitFor(() => expect(logged(daemon)).not.toContain("process-ended"));
  });

  it("ends a process that does not answer it even then", async () => {
    const tables = { limits: { handler_timeout_ms: 300 } };
    const daemon = await openDaemon(filesOf(["stuck", "pid"], { tables, mode: ["immortal"] }));
    const before = await pidOf(daemon);
    expect((await ask(daemon, "stuck")).body).toMatchObject({ error: { code: "handler-timeout" } });
    await vi.waitFor(
      () => expect(logged(daemon)).toContain("did not answer a cancelled call"),
      6_000,
    );
    await vi.waitFor(async () => expect(await pidOf(daemon)).not.toBe(before), 20_000);
    await vi.waitFor(() => expect(isAlive(before)).toBe(false), 10_000);
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
});

describe("a process that cannot be had", () => {
  it.each([
    [
      ["exit"],
      /processes\[0\]\.command: process "rooms" ended with code 4: no module named booking/,
    ],
    [["old"], /processes\[0\]\.command: process "rooms" speaks protocol 99, expected 1/],
    [["nameless"], /processes\[0\]\.command: process "rooms" said hello without a list/],
  ])("is a problem of the start: %s", async (mode, expected) => {
    const problems = await check(filesOf(["echo"], { mode }));
    expect(problems[0]).toMatch(expected);
    expect(problems[1]).toBe(
      'endpoints/echo.toml: endpoint.handler.function: process "rooms" could not be started',
    );
    expect(problems).toHaveLength(2);
  });

  it("is a program that there is not, by its name", async () => {
    const tables = { processes: [{ name: "rooms", command: ["no-such-program"] }] };
    const problems = await check(filesOf([], { tables }));
    expect(problems).toEqual([
      'agtp-server.toml: processes[0].command: process "rooms" cannot be started: there is no program "no-such-program", or no such directory',
    ]);
  });

  it("says no hello in ten seconds", async () => {
    const problems = await check(filesOf([], { mode: ["mute"] }));
    expect(problems[0]).toMatch(/process "rooms" said no hello within 10 s/);
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
  const echoOf = (signature: object): Promise<readonly string[]> =>
    check({
      ...filesOf([], { mode: ["signed", JSON.stringify(signature)] }),
      "endpoints/echo.toml": endpointFile({
        ...{ method: "QUERY", path: "/echos", required: ["nights"] },
        properties: { nights: { type: "integer" }, guest: { type: ["string", "null"] } },
        output_schema: {
          type: "object",
          required: ["total"],
          properties: { total: { type: "number" } },
        },
        handler: { type: "registered_function", function: "rooms:echo" },
      }),
    });

  it("goes with the schemas of its endpoint", async () => {
    const signature = {
      input: { properties: { nights: { type: "number" }, guest: {} }, required: ["nights"] },
      output: { properties: { total: { type: "integer" } }, required: ["total"] },
    };
    expect(await echoOf(signature)).toEqual([]);
  });

  it.each([
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
  ])("is a problem where it does not: %j", async (signature, expected) => {
    const [problem] = await echoOf(signature);
    expect(problem).toMatch(/^endpoints\/echo\.toml: endpoint\.handler\.function: the function /);
    expect(problem).toContain(expected);
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
    await vi.waitFor(() => expect(isAlive(before)).toBe(false));
    expect(logged(daemon)).not.toContain("process-ended");
  });

  it("stay as they are when a reload is refused", async () => {
    const daemon = await openDaemon(filesOf(["pid"]));
    const before = await pidOf(daemon);
    writeFileSync(join(daemon.directory, "agtp-server.toml"), processConfig(["exit"]));
    expect(await daemon.daemon.reload()).not.toEqual([]);
    expect(await pidOf(daemon)).toBe(before);
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
    const processes = new DeployedProcesses({
      processes: [
        {
          name: "rooms",
          command: [process.execPath, HANDLER_PROCESS],
          count: 1,
          concurrency: 16,
          env: {},
          cwd: ".",
        },
      ],
      ...{ directory: ".", file: "agtp-server.toml", env: {}, log, house: openProcessHouse() },
      ...{ maxLineBytes: 1_048_576, handlerTimeoutMs: 30_000 },
    });
    onTestFinished(() => processes.close());
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
