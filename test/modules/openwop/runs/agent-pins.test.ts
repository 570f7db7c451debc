/** What workflows pin of agents: true of the agent that is installed, or there is no run. */
import { describe, expect, it } from "vitest";
import type { AgentCatalog } from "../../../../src/modules/openwop/agent-catalog.ts";
import type { PinnedAgent } from "../../../../src/modules/openwop/workflows/workflow.ts";
import {
  CATALOG,
  CONCIERGE,
  ordinaryTurn,
  scriptedAgents,
} from "../../../support/openwop-agents.ts";
import { expectValid, lastingStore, openRuns } from "../../../support/openwop-runs.ts";
import { node, workflow } from "../../../support/openwop-workflows.ts";

const TASK = { inputs: { task: { type: "static", value: { text: "a room" } } } } as const;

const pinning = (agent: PinnedAgent, typeId = "core.agent") =>
  workflow("pins", [node("a", typeId, { ...TASK, agent })]);

function serve(agent: PinnedAgent, typeId?: string) {
  const executor = scriptedAgents(ordinaryTurn);
  return openRuns({ executor, catalog: CATALOG, workflows: [pinning(agent, typeId)] });
}

// RFC 0002 §A: a reference is provenance.
describe("a pin of an agent that is installed", () => {
  it.each<readonly [member: string, wrong: Partial<PinnedAgent>]>([
    ["version", { version: "1.3.0" }],
    ["version", { version: "^1.2.0" }],
    ["sourceManifestId", { sourceManifestId: "core.openwop.desk.other" }],
    ["name", { name: "Somebody else" }],
    ["channel", { channel: "stable" }],
  ])("is refused with another %s", async (member, wrong) => {
    for (const typeId of ["core.agent", "core.identity"]) {
      const server = await serve({ agentId: CONCIERGE, ...wrong }, typeId);
      const { status, body } = await server.post("/v1/runs", { workflowId: "pins" });
      expect(status).toBe(400);
      expectValid(body, "error-envelope");
      expect(body).toMatchObject({ error: "validation_error", details: { nodeId: "a" } });
      expect(body["message"]).toContain(`/nodes/a/agent/${member}`);
      expect(server.register.unfinished()).toEqual([]);
    }
  });

  it("is taken when it is right, and told with all that is known of the agent", async () => {
    const right = { version: "1.2.0", sourceManifestId: CONCIERGE, name: "Concierge" };
    for (const pin of [{}, { version: "1.2.0" }, right, { modelClass: "chat" }]) {
      const server = await serve({ agentId: CONCIERGE, ...pin });
      const snapshot = await server.until(await server.run("pins"), "completed");
      expectValid(snapshot, "run-snapshot");
      expect(snapshot["agent"]).toEqual({
        ...{ agentId: CONCIERGE, modelClass: "code", ...right, ...pin },
      });
    }
  });

  it("is the run's: another version that was installed meanwhile does not take the turn", async () => {
    const store = lastingStore();
    const workflows = [pinning({ agentId: CONCIERGE })];
    const executor = scriptedAgents(ordinaryTurn);
    const first = await openRuns({
      ...{ store, workflows, executor, catalog: CATALOG, isStarted: false },
    });
    const runId = await first.run("pins");
    await first.close();
    const newer: AgentCatalog = {
      ...CATALOG,
      reference: (agentId, tenant) => {
        const reference = CATALOG.reference(agentId, tenant);
        return reference && { ...reference, version: "2.0.0" };
      },
    };
    const second = await openRuns({ store, workflows, executor, catalog: newer });
    const snapshot = await second.until(runId, "failed");
    expect(snapshot).toMatchObject({
      error: {
        code: "agent_pin_mismatch",
        details: { member: "version", pinned: "1.2.0", installed: "2.0.0" },
      },
    });
    const types = (await second.events(runId)).map(({ type }) => type);
    expect(types).toEqual(["run.started", "node.started", "node.failed", "run.failed"]);
  });
});

describe("a pin of an agent that is not installed", () => {
  it("is told as it was written, by a node that takes no turn", async () => {
    const pin = { agentId: "core.conformance.absent", version: "9.9.9", sourceManifestId: "a.b.c" };
    const server = await serve(pin, "core.identity");
    const snapshot = await server.until(await server.run("pins"), "completed");
    expect(snapshot["agent"]).toEqual(pin);
  });
});
