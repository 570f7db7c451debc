/** Threads that a caller creates, and the places that there are for them. */
import { describe, expect, it } from "vitest";
import type { Call } from "../../../src/handlers/handler.ts";
import type { HostedRuns } from "../../../src/modules/agntcy/endpoints/hosted-runs.ts";
import { createThread } from "../../../src/modules/agntcy/endpoints/threads.ts";
import { type AgentThread, openThreads } from "../../../src/modules/agntcy/runs/agent-runs.ts";
import { createMemoryStore } from "../../../src/state/memory-store.ts";

const MOST = 8192;

/** An agent whose server makes threads, over a store that keeps so many of others already. */
async function hosting(kept: number, makeThread: () => object) {
  const store = createMemoryStore();
  const changes = Array.from({ length: kept }, (_, at) => {
    const thread: AgentThread = {
      ...{ threadId: `t${at}`, base: "/mail", owner: `owner ${at}` },
      ...{ upstreamThreadId: `u${at}`, createdAt: at },
    };
    return {
      kind: "put",
      collection: "agntcy-threads",
      key: thread.threadId,
      value: thread,
    } as const;
  });
  await store.commit(changes);
  const threads = await openThreads(store);
  const hosted = {
    agent: {
      base: "/mail",
      ready: () => Promise.resolve({ kind: "ready", agentId: "a" }),
      client: { createThread: async () => makeThread() },
    },
    ...{ threads, findInactive: () => undefined, maxWaitMs: 10_000 },
    closing: new AbortController().signal,
  } as unknown as HostedRuns;
  const log = { warn: () => undefined };
  const call = { agentId: "maya", input: {}, log } as unknown as Call;
  return { threads, create: () => createThread(hosted, call) };
}

// Agent Connect Protocol "Threads"
describe("a thread", () => {
  it("is not made with the agent's server where there is no place for it", async () => {
    let made = 0;
    const { create } = await hosting(MOST, () => {
      made += 1;
      return { kind: "ok", value: { threadId: "u", metadata: {} } };
    });
    expect(await create()).toMatchObject({ status: 429 });
    expect(made).toBe(0);
  });

  it("has its place while the agent's server is asked, and gives it back where that fails", async () => {
    const values = [
      { kind: "ok", value: { threadId: "u", metadata: {} } },
      { kind: "failed", error: "upstream_error", message: "no", status: 500 },
    ];
    const { threads, create } = await hosting(MOST - 1, () => values.pop() ?? {});
    const [failing, refused] = await Promise.all([create(), create()]);
    expect(failing).toMatchObject({ error: "upstream_error" });
    expect(refused).toMatchObject({ status: 429 });
    expect(await create()).toMatchObject({ body: { status: "idle" } });
    expect(threads.size).toBe(MOST);
  });
});
