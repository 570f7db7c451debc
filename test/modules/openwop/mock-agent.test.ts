/** The public suite's agent: its thresholds and its reasoning are those of a real one. */
import { describe, expect, it } from "vitest";
import type { AgentCatalog } from "../../../src/modules/openwop/agent-catalog.ts";
import { CATALOG, CONCIERGE } from "../../support/openwop-agents.ts";
import { expectValidLog, openRuns, type RunServerOptions } from "../../support/openwop-runs.ts";
import { node, workflow } from "../../support/openwop-workflows.ts";

interface MockRun extends RunServerOptions {
  readonly config: Readonly<Record<string, unknown>>;
  readonly configurable?: Readonly<Record<string, unknown>>;
}

async function run({ config, configurable = {}, ...options }: MockRun) {
  const definition = workflow("mock", [
    node("mock", "core.conformance.mock-agent", { config, agent: { agentId: CONCIERGE } }),
  ]);
  const server = await openRuns({ ...options, workflows: [definition] });
  const runId = await server.run("mock", { configurable });
  const snapshot = await server.until(runId, "completed", "waiting-approval");
  const events = await server.events(runId);
  expectValidLog(events);
  const of = (type: string) => events.filter((one) => one.type === type).map((one) => one.payload);
  return { status: snapshot.status, of };
}

const SURE_ENOUGH: AgentCatalog = {
  ...CATALOG,
  inventory: (tenant) =>
    CATALOG.inventory(tenant).map((entry) => ({ ...entry, confidenceThreshold: 0.4 })),
};

// RFC 0002 §F
describe("the mock agent's threshold", () => {
  it.each([
    ["the manifest's, where the run says nothing", {}, SURE_ENOUGH, "completed"],
    ["the run's before it", { escalationThreshold: 0.6 }, SURE_ENOUGH, "waiting-approval"],
    ["0.7 where neither says", {}, CATALOG, "waiting-approval"],
  ])("is %s", async (_, configurable, catalog, status) => {
    const ran = await run({ config: { mockConfidence: 0.5 }, configurable, catalog });
    expect(ran.status).toBe(status);
  });
});

// RFC 0002 §B
describe("the mock agent's reasoning", () => {
  const words = Array.from({ length: 40 }, (_, at) => `word${at}`);
  const mockReasoning = { summary: words.join(" "), trace: "every step of it" };
  const reasoning = { tokenLimit: 5 };

  it("is cut to a summary of so many tokens", async () => {
    const { of } = await run({ config: { mockReasoning }, reasoning });
    expect(of("agent.reasoned")).toEqual([
      { agentId: CONCIERGE, reasoning: "word0 word1 word2 wo", verbosity: "summary" },
    ]);
  });

  it.each([
    ["asked for by the run", { configurable: { reasoningVerbosity: "full" } }],
    ["what the host shows", { reasoning: { verbosity: "full", tokenLimit: 5 } as const }],
  ])("is whole and labelled as such where that is %s", async (_, options) => {
    const { of } = await run({ config: { mockReasoning }, reasoning, ...options });
    expect(of("agent.reasoned")).toEqual([
      { agentId: CONCIERGE, reasoning: "every step of it", verbosity: "full" },
    ]);
  });

  it("is cut piece by piece as it streams, and the pieces are the whole", async () => {
    const streamChunks = ["one two ", "three four ", "five six ", "seven"];
    const { of } = await run({
      ...{ config: { mockReasoning: { summary: "x", streamChunks } }, reasoning },
    });
    const deltas = of("agent.reasoning.delta").map(({ delta }) => delta);
    expect(deltas).toEqual(["one two ", "three four ", "f"]);
    expect(of("agent.reasoned")).toMatchObject([{ reasoning: deltas.join("") }]);
  });

  it("is hidden where the host hides it", async () => {
    const { of } = await run({
      ...{ config: { mockReasoning }, reasoning: { verbosity: "off", tokenLimit: 5 } },
    });
    expect(of("agent.reasoned")).toEqual([]);
  });
});
