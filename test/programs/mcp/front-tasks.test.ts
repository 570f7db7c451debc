/** `agtp-mcp URI` to clients that know tasks: calls that wait are tasks, as long as the program runs. */

import { createInterface } from "node:readline";
import { PassThrough } from "node:stream";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { mcpProgram } from "../../../src/programs/mcp/command.ts";
import { tellProgress } from "../../../src/programs/mcp/front-command.ts";
import { runProgram } from "../../../src/programs/shell/run-program.ts";
import { makeOperator, waysFiles } from "../../support/approval-ways.ts";
import { ALMA, ranIn } from "../../support/approving.ts";
import { askOnce, openDaemon } from "../../support/daemon.ts";
import { ALICE, delegationFiles } from "../../support/delegation.ts";
import { endpointFile } from "../../support/deployment.ts";
import { PATIENCE } from "../../support/patience.ts";
import { keepingTerminal } from "../../support/terminal.ts";
import { confirmation } from "../../support/waiting.ts";

const OPERATOR = makeOperator();
const TASKS = { extensions: { "io.modelcontextprotocol/tasks": {} } };

type Told = Readonly<Record<string, unknown>>;
type Send = (method: string, params?: Told, capabilities?: object) => Promise<Told>;

/** The program, spoken to without the library, which would judge what it does not know. */
function openRaw(args: readonly string[]): Send {
  const [input, output] = [new PassThrough(), new PassThrough()];
  const terminal = { ...keepingTerminal("."), streams: { input, output } };
  const exit = runProgram(mcpProgram, args, terminal);
  onTestFinished(async () => {
    input.end();
    await exit;
  });
  const waiting = new Map<number, (message: Told) => void>();
  createInterface({ input: output }).on("line", (line) => {
    const message = JSON.parse(line) as Told & { readonly id: number };
    waiting.get(message.id)?.((message["result"] ?? message) as Told);
  });
  let count = 0;
  return (method, params = {}, capabilities = TASKS) => {
    count += 1;
    const id = count;
    const _meta = {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientInfo": { name: "a-test", version: "1" },
      "io.modelcontextprotocol/clientCapabilities": capabilities,
    };
    const answer = new Promise<Told>((resolve) => waiting.set(id, resolve));
    input.write(
      `${JSON.stringify({ jsonrpc: "2.0", id, method, params: { ...params, _meta } })}\n`,
    );
    return answer;
  };
}

function escalationIn(value: unknown): string {
  return /esc-[A-Za-z0-9-]+/.exec(JSON.stringify(value))?.[0] ?? "";
}

describe("a call that an operator has to approve", () => {
  async function begin() {
    const daemon = await openDaemon(await waysFiles(OPERATOR));
    const uri = `agtp://localhost:${daemon.daemon.port}`;
    const send = openRaw([uri, "--insecure", "--agent-id", ALMA]);
    const call = { name: "book", arguments: { room: "7", guest: "Ada" } };
    const task = await send("tools/call", call);
    const decide = async (status: string): Promise<void> => {
      const word = confirmation(escalationIn(task), status);
      expect((await askOnce(daemon, word, OPERATOR.connection)).status).toBe(200);
    };
    return { daemon, send, call, task, decide, taskId: task["taskId"] };
  }

  it("is a task, and runs once it was approved", async () => {
    const { daemon, send, task, decide, taskId } = await begin();
    expect(task).toMatchObject({ resultType: "task", status: "working" });
    expect(await send("tasks/get", { taskId })).toMatchObject({ status: "working" });
    await decide("accepted");
    const done = await send("tasks/get", { taskId });
    expect(done).toMatchObject({
      ...{ status: "completed", result: { structuredContent: { booked: "7" } } },
    });
    expect(await send("tasks/get", { taskId })).toMatchObject({ result: done["result"] });
    expect(ranIn(daemon)).toEqual(["book 7 Ada"]);
  });

  it("ends with the refusal, or as its client wants it to", async () => {
    const { daemon, send, call, decide, taskId } = await begin();
    const other = await send("tools/call", { ...call, arguments: { room: "8" } });
    await send("tasks/cancel", { taskId: other["taskId"] });
    const given = await send("tasks/get", { taskId: other["taskId"] });
    expect(given).toMatchObject({ status: "cancelled" });
    await decide("rejected");
    const done = await send("tasks/get", { taskId });
    expect(done).toMatchObject({ status: "completed", result: { isError: true } });
    expect(JSON.stringify(done)).toContain("approval-rejected");
    expect(ranIn(daemon)).toEqual([]);
  });

  it("is no task of a client that knows none, nor of another program", async () => {
    const { send, call, taskId, daemon } = await begin();
    expect(await send("tools/call", call, {})).toMatchObject({ isError: true });
    expect(await send("tasks/get", { taskId }, {})).toMatchObject({ error: { code: -32_021 } });
    const uri = `agtp://localhost:${daemon.daemon.port}`;
    const another = openRaw([uri, "--insecure", "--agent-id", ALMA]);
    expect(await another("tasks/get", { taskId })).toMatchObject({ error: { code: -32_602 } });
  });
});

describe("work that a tool begins", () => {
  const START = `
export const start = async ({ dispatch, input }) => {
  const { body } = await dispatch("DELEGATE", "/", {
    target_agent_id: "bob", authority_scope: ["booking:room"], callback: "inbox",
    task: { method: "BOOK", path: "/rooms", parameters: { nights: input.nights } },
  });
  return { status: 202, body: body.result };
};`;
  const ENDPOINT = endpointFile({
    ...{ method: "EXECUTE", path: "/bookings", properties: { nights: { type: "integer" } } },
    handler: { type: "registered_function", function: "start.start" },
  });

  it.each([
    [2, { structuredContent: { result: { state: "completed" } } }],
    [12, { isError: true, structuredContent: { result: { state: "failed" } } }],
  ])("for %i nights is a task that ends as the work does", async (nights, result) => {
    const files = { "start.mjs": START, "endpoints/start.toml": ENDPOINT };
    const { daemon } = await openDaemon(delegationFiles({}, files));
    const uri = `agtp://localhost:${daemon.port}`;
    const send = openRaw([uri, "--insecure", "--agent-id", ALICE]);
    const task = await send("tools/call", { name: "execute_bookings", arguments: { nights } });
    expect(task).toMatchObject({ resultType: "task", status: "working" });
    const over = await vi.waitUntil(async () => {
      const now = await send("tasks/get", { taskId: task["taskId"] });
      return now["status"] === "working" ? undefined : now;
    }, PATIENCE);
    expect(over).toMatchObject({ status: "completed", result });
  });
});

describe("progress of a call", () => {
  it("says for how long it has been under way, until it is over", async () => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const told: unknown[] = [];
    const notify = async (notification: unknown): Promise<void> => void told.push(notification);
    const asking = (meta: object) =>
      ({ mcpReq: { _meta: meta, notify } }) as unknown as Parameters<typeof tellProgress>[0];
    const quiet = tellProgress(asking({ progressToken: "p" }), "book");
    tellProgress(asking({}), "book");
    vi.advanceTimersByTime(11_000);
    quiet();
    vi.advanceTimersByTime(60_000);
    expect(told).toMatchObject([
      { method: "notifications/progress", params: { progressToken: "p", progress: 5 } },
      { method: "notifications/progress", params: { progressToken: "p", progress: 10 } },
    ]);
  });
});
