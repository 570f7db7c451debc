/** Tasks of MCP clients that are runs: of workflows, of remote agents, questions of agents. */
import { describe, expect, it, vi } from "vitest";
import { MODULES } from "../../../src/app/modules.ts";
import type { AnyModule } from "../../../src/app/provision.ts";
import { McpState } from "../../../src/modules/mcp/mcp-state.ts";
import { mcpModule } from "../../../src/modules/mcp/module.ts";
import { StoreUnavailableError } from "../../../src/state/store-fault.ts";
import { askOnce, createDaemon, openDaemon } from "../../support/daemon.ts";
import { agentFile, makeDeployment } from "../../support/deployment.ts";
import type { TestReply, TestRequest } from "../../support/dispatch.ts";
import { DESK } from "../../support/gateway.ts";
import { mcpFiles, openMcp, postMcp, type TestMcp } from "../../support/mcp.ts";
import { FIXTURES, node, workflow } from "../../support/openwop-workflows.ts";

const BOSS = "b0".repeat(32);
const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };
const RUN_SCOPES = ["runs:create", "runs:read", "runs:cancel", "approvals:respond"];
const GATED = workflow("gated", [
  node("gate", "core.approvalGate", { config: { title: "Go on?" } }),
]);

function files(): ReturnType<typeof mcpFiles> {
  const workflows = [...FIXTURES, GATED].map((one) => [
    `agents/openwop/workflows/${one.id}.json`,
    JSON.stringify(one),
  ]);
  return mcpFiles(
    {
      openwop: { conformance: true },
      mcp: { enabled: true, anonymous: true, tools: "all" },
    },
    {
      ...Object.fromEntries(workflows),
      "agents/desk.agent.json": agentFile({
        ...{ agent_id: DESK, name: "desk", owner_id: "desk-owner" },
        scopes_accepted: RUN_SCOPES,
      }),
      "agents/boss.agent.json": agentFile({
        ...{ agent_id: BOSS, name: "boss" },
        scopes_accepted: ["inspect:all", ...RUN_SCOPES],
      }),
    },
  );
}

type Posting = Pick<TestMcp, "fetch">;
type Told = Record<string, unknown>;

async function send(
  server: Posting,
  method: string,
  params: object,
  capabilities: object = TASKS,
): Promise<Told> {
  const response = await postMcp(server, method, { ...params }, { capabilities });
  const { result, error } = (await response.json()) as { result?: Told; error?: Told };
  return result ?? { error };
}

/** The name of the tool that a pair is. */
async function toolOf(server: Posting, title: string): Promise<string> {
  const { tools } = await send(server, "tools/list", {});
  const found = (tools as { name: string; title: string }[]).find((one) => one.title === title);
  return found?.name ?? `no tool ${title}`;
}

async function call(server: Posting, title: string, input: object): Promise<Told> {
  return send(server, "tools/call", { name: await toolOf(server, title), arguments: input });
}

/** Asks for a task until it is as expected; each answer takes as long as the run has to move. */
async function until(
  server: Posting,
  { taskId }: Told,
  isDone: (task: Told) => boolean,
): Promise<Told> {
  for (;;) {
    const task = await send(server, "tasks/get", { taskId });
    if (isDone(task)) return task;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function askAgtp(server: TestMcp, request: TestRequest): Promise<TestReply> {
  return askOnce(server, { ...request, headers: { "Agent-ID": DESK, ...request.headers } });
}

/** Somebody else says that the run may go on. */
async function open(server: TestMcp, runId: string | undefined): Promise<void> {
  const answered = await askAgtp(server, {
    ...{ method: "CONFIRM", path: `/runs/${runId}/interrupts/gate` },
    ...{ headers: { "Agent-ID": BOSS }, body: { status: "accepted" } },
  });
  expect(answered.status, answered.text).toBe(200);
}

const isOver = ({ status }: Told): boolean => status !== "working";

// MCP Tasks extension
describe("a run that a tool starts", () => {
  it("is a task that tells how it stands, and ends with the result", async () => {
    const server = await openMcp(files());
    const task = await call(server, "EXECUTE /runs", { workflowId: "gated" });
    expect(task).toMatchObject({ resultType: "task", status: "working" });
    const waiting = await until(server, task, ({ statusMessage }) =>
      String(statusMessage).includes("waiting"),
    );
    const runId = /, QUERY \/runs\/([^/ ]+)$/.exec(String(waiting["statusMessage"]))?.[1];
    expect(waiting["status"]).toBe("working");
    await open(server, runId);
    expect(await until(server, task, isOver)).toMatchObject({
      status: "completed",
      result: { structuredContent: { runId, status: "completed" } },
    });
  });

  it("that fails is a result that says so", async () => {
    const server = await openMcp(files());
    const task = await call(server, "EXECUTE /runs", { workflowId: "conformance-failure" });
    expect(await until(server, task, isOver)).toMatchObject({
      status: "completed",
      result: { isError: true, structuredContent: { status: "failed" } },
    });
  });

  it("is cancelled with its task", async () => {
    const server = await openMcp(files());
    const long = { workflowId: "conformance-cancellable", inputs: { delayMs: 60_000 } };
    const task = await call(server, "EXECUTE /runs", long);
    await send(server, "tasks/cancel", { taskId: task["taskId"] });
    expect(await until(server, task, isOver)).toMatchObject({ status: "cancelled" });
    const runId = /\/runs\/([^/ ]+)/.exec(String(task["statusMessage"]))?.[1];
    const run = await askAgtp(server, { method: "QUERY", path: `/runs/${runId}` });
    expect(run.body["status"]).toBe("cancelled");
  });

  it("and its task go on in the next process", async () => {
    const deployment = makeDeployment(files());
    const posting = (daemon: Awaited<ReturnType<typeof createDaemon>>): Posting => ({
      fetch: (path, init) => fetch(`http://127.0.0.1:${daemon.daemon.gatewayPort}${path}`, init),
    });
    const first = await createDaemon(deployment);
    const task = await call(posting(first), "EXECUTE /runs", { workflowId: "gated" });
    await first.close();
    const second = await createDaemon(deployment);
    try {
      const found = await until(posting(second), task, ({ statusMessage }) =>
        String(statusMessage).includes("waiting"),
      );
      expect(found).toMatchObject({ taskId: task["taskId"], status: "working" });
    } finally {
      await second.close();
    }
  });

  it.each(["2026-07-28", "2025-11-25"] as const)(
    "is a whole result for a client of %s that knows no tasks, and names where to ask",
    async (version) => {
      const server = await openMcp(files());
      const client = await server.connectClient(version);
      const { tools } = await client.listTools();
      const name = tools.find(({ title }) => title === "EXECUTE /runs")?.name ?? "";
      const result = await client.callTool({ name, arguments: { workflowId: "gated" } });
      expect(result.isError).not.toBe(true);
      expect(result.structuredContent).toMatchObject({ runId: expect.any(String) });
      expect(JSON.stringify(result.content)).toMatch(/QUERY \/runs\/[^ ]+ says how far it is/);
    },
  );
});

describe("DELEGATE with a callback as a tool", () => {
  const delegated = { target_agent_id: "boss", authority_scope: [], callback: "inbox" };

  it("is a task that ends with the outcome", async () => {
    const server = await openMcp(files());
    const task = { method: "FETCH", path: "/orders/7", parameters: {} };
    const begun = await call(server, "DELEGATE /", { ...delegated, task });
    expect(begun).toMatchObject({ resultType: "task", status: "working" });
    expect(begun["statusMessage"]).toMatch(/QUERY \/delegations\/[0-9a-f-]{36}/);
    expect(await until(server, begun, isOver)).toMatchObject({
      status: "completed",
      result: { structuredContent: { result: { state: "completed", status: 200 } } },
    });
  });

  it("is a result that says so where the delegate fails", async () => {
    const server = await openMcp(files());
    const task = { method: "CREATE", path: "/failures", parameters: {} };
    const begun = await call(server, "DELEGATE /", { ...delegated, task });
    expect(await until(server, begun, isOver)).toMatchObject({
      status: "completed",
      result: { isError: true, structuredContent: { result: { state: "failed", status: 550 } } },
    });
  });
});

describe("ESCALATE as a tool", () => {
  const question = { task_id: "t1", reason: "scope_limit", context: { question: "may I?" } };

  it("is a task that ends with the decision", async () => {
    const server = await openMcp(files());
    const task = await call(server, "ESCALATE /", question);
    expect(task).toMatchObject({ resultType: "task", status: "working" });
    const asked = await send(server, "tasks/get", { taskId: task["taskId"] });
    const id = /esc-[\w-]+/.exec(String(task["statusMessage"]))?.[0];
    const statusMessage = `under way: pending_review, QUERY /escalations/${id}`;
    expect(asked).toMatchObject({ status: "working", statusMessage });
    const decided = await askAgtp(server, {
      ...{ method: "CONFIRM", headers: { "Agent-ID": BOSS } },
      body: { target_id: id, status: "rejected" },
    });
    expect(decided.status, decided.text).toBe(200);
    const done = await send(server, "tasks/get", { taskId: task["taskId"] });
    expect(done).toMatchObject({ status: "completed" });
    expect(JSON.stringify(done["result"])).toContain("rejected");
    expect((done["result"] as Told)["isError"]).not.toBe(true);
  });

  it("that is given up is a cancelled task, and the question stays", async () => {
    const server = await openMcp(files());
    const task = await call(server, "ESCALATE /", question);
    await send(server, "tasks/cancel", { taskId: task["taskId"] });
    expect(await send(server, "tasks/get", { taskId: task["taskId"] })).toMatchObject({
      status: "cancelled",
      statusMessage: "given up by its client; what is under way goes on",
    });
  });
});

describe("subscriptions/listen with taskIds", () => {
  it("tells whoever listens how its task stands, until it is over", async () => {
    const server = await openMcp(files());
    const task = await call(server, "EXECUTE /runs", { workflowId: "gated" });
    const { taskId } = task;
    const params = { notifications: { taskIds: [taskId, "another's"] } };
    const response = await postMcp(server, "subscriptions/listen", params, { capabilities: TASKS });
    const messages = eventsOf(response);
    const begun = await messages.next();
    expect(begun.value).toMatchObject({
      method: "notifications/subscriptions/acknowledged",
      params: { notifications: { taskIds: [taskId] } },
    });
    const runId = /\/runs\/([^/ ]+)/.exec(String(task["statusMessage"]))?.[1];
    const statuses: unknown[] = [];
    for (;;) {
      const { value } = await messages.next();
      const { method, params: told } = value ?? {};
      expect([method, told?.["taskId"]]).toEqual(["notifications/tasks", taskId]);
      statuses.push(told?.["status"]);
      if (told?.["status"] !== "working") break;
      if (String(told["statusMessage"]).includes("waiting")) await open(server, runId);
    }
    expect(statuses.at(-1)).toBe("completed");
    await messages.return(undefined);
  });

  it("goes on telling once a store that failed is there again", async () => {
    const fault = new StoreUnavailableError("unreachable", new Error("gone"));
    let failures = 0;
    const forgetting: AnyModule = {
      ...mcpModule,
      provision: (context) =>
        mcpModule.provision({
          ...context,
          once: async (open) => {
            const kept = await context.once(open);
            if (!(kept instanceof McpState)) return kept;
            const change = vi.spyOn(kept.tasks, "change");
            change.mockImplementationOnce(() => {
              failures += 1;
              return Promise.reject(fault);
            });
            return kept;
          },
        }),
    };
    const modules = MODULES.map((one) => (one.name === "mcp" ? forgetting : one));
    const daemon = await openDaemon(files(), {}, modules);
    const base = `http://127.0.0.1:${daemon.daemon.gatewayPort}`;
    const server: Posting = { fetch: (path, init) => fetch(`${base}${path}`, init) };
    const { taskId } = await call(server, "EXECUTE /runs", { workflowId: "gated" });
    const params = { notifications: { taskIds: [taskId] } };
    const response = await postMcp(server, "subscriptions/listen", params, { capabilities: TASKS });
    const told = eventsOf(response);
    for (;;) {
      const { value } = await told.next();
      if (String(value?.params?.["statusMessage"]).includes("waiting")) break;
    }
    expect(failures).toBe(1);
    await told.return(undefined);
  });

  it("is for clients that have said that they know tasks", async () => {
    const server = await openMcp(files());
    const params = { notifications: { taskIds: ["any"] } };
    const refused = await send(server, "subscriptions/listen", params, {});
    expect(refused["error"]).toMatchObject({ code: -32_021 });
  });
});

interface Message {
  readonly method?: string;
  readonly params?: Told;
}

/** The messages of a stream. */
async function* eventsOf({ body }: Response): AsyncGenerator<Message, undefined, undefined> {
  let rest = "";
  for await (const chunk of body ?? []) {
    rest += Buffer.from(chunk).toString("utf8");
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const [, data] = /^data: (.*)$/m.exec(rest.slice(0, end)) ?? [];
      rest = rest.slice(end + 2);
      if (data !== undefined) yield JSON.parse(data) as Message;
    }
  }
  return undefined;
}
