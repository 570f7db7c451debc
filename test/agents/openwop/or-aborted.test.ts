import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { executeNode } from "../../../src/agents/openwop/runs/execute-node.ts";
import { orAborted } from "../../../src/agents/openwop/runs/or-aborted.ts";

const unhandled: unknown[] = [];
const note = (reason: unknown): void => void unhandled.push(reason);

afterEach(() => {
  process.off("unhandledRejection", note);
  unhandled.length = 0;
});

describe("waiting for what may be aborted", () => {
  it("leaves no fault behind when what nobody waits for any more fails", async () => {
    process.on("unhandledRejection", note);
    const failing = Promise.reject(new Error("gave up"));
    await expect(orAborted(failing, AbortSignal.abort("over"))).rejects.toBe("over");
    await setImmediate();
    expect(unhandled).toEqual([]);
  });
});

describe("a node of a run that was stopped before it was executed", () => {
  it("is not executed", async () => {
    let executed = 0;
    const execute = () => {
      executed += 1;
      return { kind: "completed", outputs: {} } as const;
    };
    const parts = {
      log: { run: {}, state: { nodes: {} } },
      signal: AbortSignal.abort("cancelled"),
      startedAt: 0,
      options: { types: new Map([["t", { isEffectful: true, execute }]]), now: () => 0 },
      append: () => Promise.resolve([]),
    };
    const node = { id: "n", typeId: "t" };
    const done = executeNode(node as never, {}, parts as never);
    await expect(done).rejects.toBe("cancelled");
    expect(executed).toBe(0);
  });
});
