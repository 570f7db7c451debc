/** Tasks of MCP clients at one of two nodes, which hears of the other's work when it asks.   MCP Tasks extension */
import { describe, expect, it } from "vitest";
import { TaskQueue } from "../../../src/base/task-queue.ts";
import type { Exchange } from "../../../src/dispatch/exchange.ts";
import type { McpRequest } from "../../../src/modules/mcp/front.ts";
import { Audience } from "../../../src/modules/mcp/listening/audience.ts";
import { OpenStreams } from "../../../src/modules/mcp/listening/open-streams.ts";
import { Subscriptions } from "../../../src/modules/mcp/listening/subscriptions.ts";
import { advanceTask, beginTask, tasksOf } from "../../../src/modules/mcp/tasks/run-task.ts";
import { openMcpTasks } from "../../../src/modules/mcp/tasks/task.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";
import type { FeedWatcher } from "../../../src/state/store.ts";
import { StoreUnavailableError } from "../../../src/state/store-fault.ts";
import { alterStore } from "../../support/store.ts";

const CALL = { method: "BOOK", path: "/rooms/double", input: {} };
const FOLLOWING = { kind: "approval", escalationId: "esc-1" } as const;

async function openBoth() {
  const store = createMemoryStore();
  let heard: FeedWatcher | undefined;
  const watched = alterStore(store, {
    watch: (_, watcher) => {
      heard = watcher;
    },
  });
  const clock = { now: () => Date.now() };
  const [there, here] = [await openMcpTasks(store, clock), await openMcpTasks(watched, clock)];
  const asked = { count: 0, isCut: false };
  const catchUp = async (): Promise<void> => {
    asked.count += 1;
    if (asked.isCut) throw new StoreUnavailableError("unreachable", new Error("it is cut off"));
    heard?.ask();
    await heard?.take(await store.changes(0, "mcp-tasks"));
  };
  const requestOf = (tasks: typeof here, view: object, key: string): McpRequest =>
    ({ front: { tasks, view }, caller: { key } }) as unknown as McpRequest;
  return {
    asked,
    begin: async (key: string) => {
      const task = await beginTask(requestOf(there, {}, key), "book_rooms", CALL, FOLLOWING);
      return task?.taskId ?? "";
    },
    as: (key: string): McpRequest => requestOf(here, { catchUp }, key),
  };
}

describe("a task that another node has just begun", () => {
  it("is found by its client, and by no other", async () => {
    const { asked, begin, as } = await openBoth();
    const taskId = await begin("one");
    expect(await tasksOf(as("one")).find(taskId)).toMatchObject({ taskId, status: "working" });
    expect(await tasksOf(as("two")).find(taskId)).toBeUndefined();
    expect(asked.count).toBe(1);
  });

  it("is not asked for by what cannot be its name", async () => {
    const { asked, as } = await openBoth();
    expect(await tasksOf(as("one")).find("x")).toBeUndefined();
    expect(asked.count).toBe(0);
  });

  it("is not said to be unknown, nor passed over by a stream, while the store does not answer", async () => {
    const { asked, begin, as } = await openBoth();
    const taskId = await begin("one");
    asked.isCut = true;
    const refusal = { code: -32_000, data: { code: "store-unavailable" } };
    await expect(tasksOf(as("one")).find(taskId)).rejects.toMatchObject(refusal);
    const subscriptions = new Subscriptions({
      audience: new Audience({
        ...{
          work: new TaskQueue({ sliceMs: 4 }),
          stopping: new AbortController().signal,
          now: () => 0,
        },
      }),
      streams: new OpenStreams(),
      create: () => {
        throw new Error("nobody listens");
      },
      served: () => undefined,
    });
    const capabilities = { extensions: { "io.modelcontextprotocol/tasks": {} } };
    const _meta = { "io.modelcontextprotocol/clientCapabilities": capabilities };
    const params = { notifications: { taskIds: [taskId] }, _meta };
    const body = { jsonrpc: "2.0", id: 1, method: "subscriptions/listen", params };
    const http = new Request("http://localhost/mcp", { method: "POST" });
    const answer = await subscriptions.handle(http, as("one"), body);
    expect([answer.status, await answer.json()]).toMatchObject([503, { error: refusal, id: 1 }]);
  });
});

describe("a call that an operator has approved, whose task two nodes are asked for at once", () => {
  it("ends its task as it ended itself, and not as the second of two calls", async () => {
    const store = createMemoryStore();
    const clock = { now: () => Date.now() };
    let answerCall = (): void => undefined;
    const called = new Promise<void>((resolve) => {
      answerCall = resolve;
    });
    const nodes = await Promise.all(
      ["one", "two"].map(async (self) => {
        const tasks = await openMcpTasks(store, clock);
        const holders = { self, isGone: () => false, watch: () => () => undefined };
        const answer = async (exchange: Exchange): Promise<object> => {
          if (self === "one") await called;
          const used = { reason: "approval-used", outcome: "answered" };
          const body = JSON.stringify(self === "one" ? { room: "double" } : used);
          const response = {
            status: self === "one" ? 200 : 409,
            body,
            fields: "",
            responseId: "r",
          };
          return { ...response, exchange };
        };
        const front = {
          ...{ tasks, holders, serverId: "test", isUndecided: () => false },
          ...{
            ledger: { whenSettled: (settled: () => void) => settled() },
            protection: undefined,
            toolbox: { find: () => undefined },
          },
          dispatcher: { answer },
        };
        const caller = { key: "client", fields: new Map(), peer: {} };
        return { tasks, request: { front, caller } as unknown as McpRequest };
      }),
    );
    const [one, two] = nodes as [(typeof nodes)[number], (typeof nodes)[number]];
    const task = await beginTask(one.request, "book_rooms", CALL, FOLLOWING);
    if (task === undefined) throw new Error("there is no room");
    await two.tasks.refresh();
    const first = advanceTask(one.request, task);
    // The call has begun: its node has said so, where it says so.
    await one.tasks.refresh();
    await two.tasks.refresh();
    const meanwhile = await advanceTask(two.request, task);
    expect(meanwhile.status).toBe("working");
    answerCall();
    expect(await first).toMatchObject({ status: "completed" });
    await two.tasks.refresh();
    expect(JSON.stringify(two.tasks.get(task.taskId)?.result)).toContain("double");
    expect(two.tasks.get(task.taskId)).not.toHaveProperty("heldBy");
  });
});
