/** Runs of AGNTCY agents as tasks of MCP clients: over ACP, until they end.   MCP Tasks extension */
import { describe, expect, it } from "vitest";
import type { AcpOptions, Attempt } from "../../support/acp-server.ts";
import {
  askThrough,
  confirm,
  hostedFiles,
  MAYA,
  OLGA,
  openAcp,
  query,
} from "../../support/agntcy.ts";
import { openMcp, postMcp, type TestMcp } from "../../support/mcp.ts";
import { refusalOf } from "../../support/waiting.ts";

const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const APPROVAL = { mail_send_approval: { subject: "Hello", body: "World" } };

type Told = Readonly<Record<string, unknown>>;

/** A daemon whose MCP clients are Maya, in front of an agent that does as the script says. */
async function openRuns(script: NonNullable<AcpOptions["script"]>): Promise<TestMcp> {
  const acp = await openAcp({ script });
  const tables = {
    gateway: { enabled: true, port: 0, agent: "maya" },
    mcp: { enabled: true, anonymous: true, tools: "all" },
  };
  return openMcp(hostedFiles(acp, { tables }));
}

async function send(server: TestMcp, method: string, params: Told): Promise<Told> {
  const response = await postMcp(server, method, params, { capabilities: TASKS });
  const { result, error } = (await response.json()) as { result?: Told; error?: Told };
  return result ?? { error };
}

async function begin(server: TestMcp): Promise<Told> {
  const { tools } = await send(server, "tools/list", {});
  const found = (tools as { name: string; title: string }[]).find(
    ({ title }) => title === "EXECUTE /mailcomposer",
  );
  const call = { name: found?.name, arguments: { input: { message: "hi" } } };
  const task = await send(server, "tools/call", call);
  expect(task).toMatchObject({ resultType: "task", status: "working" });
  return task;
}

async function until(
  server: TestMcp,
  { taskId }: Told,
  isDone: (task: Told) => boolean,
): Promise<Told> {
  for (;;) {
    const task = await send(server, "tasks/get", { taskId });
    if (isDone(task)) return task;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const isOver = ({ status }: Told): boolean => status !== "working";

function runIdIn({ statusMessage }: Told): string {
  return /\/runs\/([^/ ]+)/.exec(String(statusMessage))?.[1] ?? "";
}

/** Asks before it sends. */
function asksFirst({ answers }: Attempt) {
  return answers.length === 0 ? { interrupt: APPROVAL } : { success: { message: "sent" } };
}

describe("a run of an AGNTCY agent as a tool", () => {
  it("is a task that ends with the output", async () => {
    const server = await openRuns(() => ({ success: { message: "done" } }));
    const task = await begin(server);
    expect(await until(server, task, isOver)).toMatchObject({
      status: "completed",
      result: { structuredContent: { status: "success", output: { message: "done" } } },
    });
  });

  it("that asks waits, says so, and ends once somebody has answered", async () => {
    const server = await openRuns(asksFirst);
    const task = await begin(server);
    const asking = await until(server, task, ({ statusMessage }) =>
      String(statusMessage).includes("interrupted"),
    );
    expect(asking["statusMessage"]).toMatch(/, QUERY \/escalations\/esc-[\w-]+$/);
    const ask = askThrough(await server.connect());
    const answer = { status: "accepted", resume_value: { approved: true } };
    const answered = await ask(MAYA, confirm(runIdIn(task), answer));
    expect([200, 202], answered.text).toContain(answered.status);
    expect(await until(server, task, isOver)).toMatchObject({
      status: "completed",
      result: { structuredContent: { output: { message: "sent" } } },
    });
  });

  it("that fails is a result that says so", async () => {
    const server = await openRuns(() => ({ error: "no ink" }));
    const task = await begin(server);
    expect(await until(server, task, isOver)).toMatchObject({
      status: "completed",
      result: { isError: true, structuredContent: { status: "error" } },
    });
  });

  it("is called off with its task where the agent's server does that, else goes on", async () => {
    const server = await openRuns(() => "never");
    const task = await begin(server);
    await send(server, "tasks/cancel", { taskId: task["taskId"] });
    const over = await until(server, task, isOver);
    expect(over["status"]).toBe("cancelled");
    const ask = askThrough(await server.connect());
    const run = await ask(OLGA, query(runIdIn(task)));
    expect(refusalOf(run)[0]).toBe(200);
    const isCalledOff =
      run.body["status"] !== undefined && String(run.body["status"]) === "cancelled";
    expect(String(over["statusMessage"]).includes("goes on")).toBe(!isCalledOff);
  });
});
