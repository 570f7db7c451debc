/** Approved calls of MCP clients: as tasks, through refusals of every kind and through kill -9. */
import { afterEach, describe, expect, it, vi } from "vitest";
import { type RunningProgram, startProgram } from "../support/agtpd.ts";
import {
  makeOperator,
  openWays,
  WAYS,
  type Way,
  type WaysServer,
  waysFiles,
} from "../support/approval-ways.ts";
import { BORIS, booking, ranIn } from "../support/approving.ts";
import { askOnce, connectRaw } from "../support/daemon.ts";
import { makeDeployment, type TestDeployment } from "../support/deployment.ts";
import { connectMcp, postMcp, type TestMcp } from "../support/mcp.ts";
import { confirmation } from "../support/waiting.ts";

afterEach(() => void vi.useRealTimers());

const OPERATOR = makeOperator();
const OVER_AGTP = WAYS[0] as Way;
const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

type Posting = Pick<TestMcp, "fetch">;
type Result = Readonly<Record<string, unknown>>;

async function post(server: Posting, method: string, params: object): Promise<Result> {
  const response = await postMcp(server, method, { ...params }, { capabilities: TASKS });
  return ((await response.json()) as { readonly result: Result }).result;
}

interface Begun {
  readonly taskId: string;
  readonly escalationId: string;
}

async function begin(server: Posting, tool: string): Promise<Begun> {
  const call = { name: tool, arguments: { room: "7", guest: "Ada" } };
  const task = await post(server, "tools/call", call);
  expect(task).toMatchObject({ resultType: "task", status: "working" });
  const escalationId = /esc-[A-Za-z0-9-]+/.exec(JSON.stringify(task))?.[0] ?? "";
  return { taskId: String(task["taskId"]), escalationId };
}

function get(server: Posting, taskId: string): Promise<Result> {
  return post(server, "tasks/get", { taskId });
}

const open = (): Promise<WaysServer> => openWays(OPERATOR);

describe("the task of a call that waits for an operator", () => {
  it.each([
    ["refused", "approval-rejected"],
    ["withdrawn", "approval-rejected"],
    ["too late", "approval-expired"],
    ["for another endpoint", "approval-mismatch"],
    ["for another policy", "approval-mismatch"],
    ["used by another call", "approval-used"],
  ])("ends with the refusal where its approval is %s, and nothing runs", async (how, code) => {
    const server = await open();
    const { taskId, escalationId } = await begin(server, "book");
    if (how !== "refused") await server.decide(escalationId, "accepted");
    if (how === "refused" || how === "withdrawn") await server.decide(escalationId, "rejected");
    if (how === "too late") {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + 3_601_000 });
    } else if (how.startsWith("for")) {
      await server.change(how === "for another policy" ? "policy" : "endpoint", OVER_AGTP);
    } else if (code === "approval-used") {
      const call = { room: "7", guest: "Ada" };
      expect((await OVER_AGTP.ask(server, call, escalationId)).outcome).toBe("done");
    }
    const before = ranIn(server).length;
    const task = await get(server, taskId);
    expect(task).toMatchObject({ status: "completed", result: { isError: true } });
    expect(JSON.stringify(task)).toContain(code);
    expect(ranIn(server)).toHaveLength(before);
  });

  it("runs one call for 50 that ask for it at once", async () => {
    const server = await open();
    const { taskId, escalationId } = await begin(server, "book");
    await server.decide(escalationId, "accepted");
    await Promise.all(Array.from({ length: 50 }, () => get(server, taskId)));
    expect(await get(server, taskId)).toMatchObject({ status: "completed" });
    expect(ranIn(server)).toEqual(["book 7 Ada"]);
  });
});

describe("agtp_approved_call", () => {
  const approved = (id: string) => ({
    ...{ name: "agtp_approved_call", arguments: { escalation_id: id } },
    _meta: { "io.agtp/record": true },
  });

  it("is not for the approval of another agent", async () => {
    const server = await open();
    const asked = await askOnce(server, booking("7", { headers: { "Agent-ID": BORIS } }));
    const id = String(asked.body["escalation_id"]);
    await server.decide(id, "accepted");
    const client = await server.connectClient("2026-07-28");
    const refused = await client.callTool(approved(id));
    expect(refused.isError).toBe(true);
    expect(JSON.stringify(refused.content)).toContain("approval-mismatch");
    expect(ranIn(server)).toEqual([]);
  });

  it("lets one of 50 run", async () => {
    const server = await open();
    const { escalationId } = await begin(server, "book");
    await server.decide(escalationId, "accepted");
    const client = await server.connectClient("2026-07-28");
    const results = await Promise.all(
      Array.from({ length: 50 }, () => client.callTool(approved(escalationId))),
    );
    expect(results.filter(({ isError }) => isError !== true)).toHaveLength(1);
    expect(ranIn(server)).toEqual(["book 7 Ada"]);
  });
});

// Processes are started one after the other.
describe("a daemon that is killed", () => {
  interface Started extends Posting {
    readonly program: RunningProgram;
    readonly url: URL;
    approve(escalationId: string): Promise<void>;
    kill(): Promise<void>;
  }

  async function start({ configPath }: TestDeployment): Promise<Started> {
    const program = await startProgram(configPath);
    const base = `http://127.0.0.1:${program.ready["gateway_port"]}`;
    const connect = (options?: object) => connectRaw(program, options ?? {});
    return {
      program,
      url: new URL(`${base}/mcp`),
      fetch: (path, init) => fetch(`${base}${path}`, init),
      approve: async (id) => {
        const word = confirmation(id, "accepted");
        const { status } = await askOnce({ connect }, word, OPERATOR.connection);
        expect(status).toBe(200);
      },
      kill: async () => {
        program.child.kill("SIGKILL");
        await program.outcome;
      },
    };
  }

  it("between decision and call, has the task run once after the restart", async () => {
    const deployment = makeDeployment(await waysFiles(OPERATOR));
    const first = await start(deployment);
    const { taskId, escalationId } = await begin(first, "book");
    await first.approve(escalationId);
    await first.kill();
    const second = await start(deployment);
    expect(await get(second, taskId)).toMatchObject({
      status: "completed",
      result: { structuredContent: { booked: "7" } },
    });
    await second.kill();
    const third = await start(deployment);
    expect(JSON.stringify(await get(third, taskId))).not.toContain("isError");
    expect(ranIn(deployment)).toEqual(["book 7 Ada"]);
    await third.kill();
  });

  it("between call and answer, never has it run twice, and its client learns that", async () => {
    const deployment = makeDeployment(await waysFiles(OPERATOR));
    const first = await start(deployment);
    const { taskId, escalationId } = await begin(first, "book_slow");
    await first.approve(escalationId);
    const cut = get(first, taskId).catch(() => "cut");
    await first.program.line("begun");
    await first.kill();
    expect(await cut).toBe("cut");
    const second = await start(deployment);
    const task = await get(second, taskId);
    expect(task).toMatchObject({ status: "completed", result: { isError: true } });
    expect(JSON.stringify(task)).toMatch(/approval-used.*unknown/);
    const client = await connectMcp(second.url, "2026-07-28");
    const again = await client.callTool({
      ...{ name: "agtp_approved_call", arguments: { escalation_id: escalationId } },
    });
    expect(JSON.stringify(again.content)).toMatch(/approval-used.*unknown/);
    expect(ranIn(deployment)).toEqual(["slow 7"]);
    await second.kill();
  });
});
