import { describe, expect, it } from "vitest";
import type { QueryCaller } from "../../../src/dispatch/module/query-source.ts";
import { RecentRuns, runSource } from "../../../src/modules/delegation/recent-runs.ts";
import { openDelegationState } from "../../../src/modules/delegation/register.ts";
import { openServer } from "../../support/dispatch.ts";
import { ALICE, hostedFiles } from "../../support/hosted-agents.ts";

describe("recent runs", () => {
  it("are an agent's own, the newest first", async () => {
    const runs = await RecentRuns.open();
    await runs.begin("a", { kind: "execute", action: "one" });
    await runs.begin("b", { kind: "execute", action: "other's" });
    const id = await runs.begin("a", { kind: "execute", action: "two", taskId: "t" });
    await runs.end(id, { state: "refused", status: 455, code: "scope-violation" });
    expect(runs.of("a").map(({ action, state }) => [action, state])).toEqual([
      ["two", "refused"],
      ["one", "running"],
    ]);
    expect(runs.of("c")).toEqual([]);
  });

  it("forget an agent's oldest beyond a hundred", async () => {
    const runs = await RecentRuns.open();
    for (let count = 0; count < 130; count += 1) {
      await runs.begin("a", { kind: "execute", action: String(count) });
    }
    await runs.begin("b", { kind: "execute", action: "b" });
    expect(runs.of("a")).toHaveLength(100);
    expect(runs.of("a").at(-1)?.action).toBe("30");
    expect(runs.of("b")).toHaveLength(1);
  });

  it("remember nothing of nobody", async () => {
    const runs = await RecentRuns.open();
    const id = await runs.begin(undefined, { kind: "execute", action: "x" });
    await runs.end(id, { state: "completed", status: 200, code: undefined });
    expect(id).toMatch(/^[0-9a-f-]{36}$/);
    expect(runs.of("")).toEqual([]);
  });
});

// AGTP "QUERY"
describe("the source of runs", () => {
  it("shows a caller what it had executed, and how that ended", async () => {
    const server = await openServer(hostedFiles());
    const headers = { "Agent-ID": ALICE, "Task-ID": "t-9" };
    const body = { action: "BOOK /rooms", parameters: { note: "secret" } };
    const { body: answer } = await server.send({ method: "EXECUTE", headers, body });
    const [entry, ...others] = await runSource(
      (await server.kept.once(openDelegationState)).runs,
    ).entries(asker(ALICE));
    expect(others).toEqual([]);
    expect(entry?.id).toBe(answer["run_id"]);
    expect(entry?.content).toMatchObject({
      ...{ kind: "execute", action: "BOOK /rooms", task_id: "t-9" },
      ...{ state: "completed", status: 200 },
    });
    expect(JSON.stringify(entry)).not.toContain("secret");
    expect(
      await runSource((await server.kept.once(openDelegationState)).runs).entries(
        asker("b".repeat(64)),
      ),
    ).toEqual([]);
  });

  it("shows nothing to whom this server does not know", async () => {
    const { caller, ...rest } = asker(ALICE);
    const stranger = { ...rest, caller: { ...caller, document: undefined } };
    const runs = await RecentRuns.open();
    await runs.begin(ALICE, { kind: "execute", action: "x" });
    expect(await runSource(runs).entries(stranger)).toEqual([]);
  });
});

function asker(agentId: string): QueryCaller {
  const document = { agentId };
  return { caller: { agentId, document }, peer: {} } as unknown as QueryCaller;
}
