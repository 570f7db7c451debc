/** Channels: what is written to them one after the other, and what becomes of it. */
import { describe, expect, it } from "vitest";
import { waitFor } from "../../../../src/modules/openwop/nodes/core-nodes.ts";
import type { NodeCall } from "../../../../src/modules/openwop/nodes/node-type.ts";
import { type ChannelRule, written } from "../../../../src/modules/openwop/runs/run-state.ts";
import { createMemoryStore } from "../../../../src/state/memory-store.ts";
import { expectValidLog, killableStore, openRuns } from "../../../support/openwop-runs.ts";
import { node, workflow } from "../../../support/openwop-workflows.ts";

const write = (id: string, value: unknown, more: object = {}) =>
  node(id, "core.channelWrite", { config: { channelName: "events", value, ...more } });

const rule = (more: Partial<ChannelRule>): ChannelRule => {
  return { reducer: "append", ttlMs: 0, maxSize: 1000, ...more };
};

// OpenWOP "channels-and-reducers"
describe("a channel", () => {
  it.each([
    ["append", [1, 2], [1, 2]],
    ["feedback", ["a", "a"], ["a", "a"]],
  ] as const)("of %s grows by an entry each time", (reducer, values, expected) => {
    const after = values.reduce<unknown>(
      (before, value, at) => written(before, value, at, rule({ reducer })),
      undefined,
    );
    expect(after).toEqual(expected.map((value, _ts) => ({ value, _ts })));
  });

  it.each([
    ["replace", [{ a: 1 }, 2], 2],
    ["merge", [{ a: 1, b: 1 }, { b: 2 }], { a: 1, b: 2 }],
    ["counter", [2, -5], -3],
  ] as const)("of %s is one value", (reducer, values, expected) => {
    const after = values.reduce<unknown>(
      (before, value, at) => written(before, value, at, rule({ reducer })),
      undefined,
    );
    expect(after).toEqual(expected);
  });

  it("of votes keeps the last of each voter", () => {
    const votes = [
      { voter: "ann", vote: 1 },
      { voter: "bob", vote: 1 },
      { voter: "ann", vote: 2 },
    ];
    const after = votes.reduce<unknown>(
      (before, value, at) => written(before, value, at, rule({ reducer: "votes" })),
      undefined,
    );
    expect(after).toEqual([
      { value: votes[1], _ts: 1 },
      { value: votes[2], _ts: 2 },
    ]);
  });

  it("forgets what is too old, and what is too much, at the next write", () => {
    const entries = [1, 2, 3].map((value) => ({ value, _ts: value }));
    expect(written(entries, 4, 4, rule({ ttlMs: 2 }))).toEqual([
      ...entries.slice(1),
      { value: 4, _ts: 4 },
    ]);
    expect(written(entries, 4, 4, rule({ maxSize: 1 }))).toEqual([{ value: 4, _ts: 4 }]);
  });
});

describe("core.channelWrite", () => {
  it("writes what stays within its time to live", async () => {
    let now = Date.parse("2030-01-01T00:00:00Z");
    const ttl = { ttlMs: 200 };
    const nodes = [
      write("a", "a", ttl),
      node("wait", "core.delay", { config: { ms: 1 } }),
      write("b", "b", ttl),
    ];
    const server = await openRuns({
      workflows: [workflow("writes", nodes)],
      // Every look at the clock is a while after the one before.
      now: () => {
        now += 150;
        return now;
      },
    });
    const runId = await server.run("writes");
    const { variables } = await server.until(runId, "completed");
    expect(variables).toMatchObject({ events: [{ value: "b" }] });
    const events = await server.events(runId);
    expectValidLog(events);
    const written = events.filter(({ type }) => type === "channel.written");
    expect(written.map(({ payload }) => payload["value"])).toEqual(["a", "b"]);
  });

  it("is read by the nodes behind it, and takes what is connected to it", async () => {
    const server = await openRuns({
      workflows: [
        workflow("writes", [
          node("from", "core.identity", { inputs: { n: { type: "static", value: 3 } } }),
          node("add", "core.channelWrite", {
            config: { channelName: "sum", reducer: "counter" },
            inputs: { value: { type: "connection", nodeId: "from", outputKey: "n" } },
          }),
          node("read", "core.identity", {
            inputs: { sum: { type: "variable", variableName: "sum" } },
          }),
        ]),
      ],
    });
    const runId = await server.run("writes");
    expect(await server.until(runId, "completed")).toMatchObject({ outputs: { sum: 3 } });
  });

  it("fails where a value is none that its reducer takes", async () => {
    const server = await openRuns({
      workflows: [workflow("writes", [write("a", "three", { reducer: "counter" })])],
    });
    const runId = await server.run("writes");
    expect(await server.until(runId, "failed")).toHaveProperty("error.code", "validation_error");
  });

  it("writes once where a process was killed at any moment, and a replay tells the same", async () => {
    const flow = workflow("writes", [write("a", "a"), write("b", "b")]);
    for (let commits = 1; commits <= 6; commits += 1) {
      const disk = createMemoryStore();
      const store = killableStore(disk);
      const first = await openRuns({ workflows: [flow], store, isStarted: false });
      const runId = await first.run("writes");
      store.killAfter(commits);
      first.host.start();
      await Promise.race([store.died, first.until(runId, "completed").catch(() => undefined)]);
      store.kill();
      await first.close();
      const next = await openRuns({ workflows: [flow], store: disk });
      const { variables } = await next.until(runId, "completed");
      expect(variables).toMatchObject({ events: [{ value: "a" }, { value: "b" }] });
      const forked = await next.post(`/v1/runs/${runId}:fork`, { mode: "replay" });
      expect((await next.until(forked.body.runId, "completed"))["variables"]).toEqual(variables);
    }
  });
});

describe("a delay", () => {
  it("takes no longer than it says where the clock was set back since it started", async () => {
    const { signal } = new AbortController();
    const call = { startedAt: 60 * 60_000, now: 0, signal } as unknown as NodeCall;
    expect(await waitFor(call, 1)).toBeUndefined();
  });
});
