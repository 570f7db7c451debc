/** Agents that may not act now, and whose authority nobody acts with. */
import { expect, it } from "vitest";
import { atOnce } from "../../../src/base/paced.ts";
import type { Caller } from "../../../src/dispatch/caller/caller.ts";
import { refuseInactiveCaller } from "../../../src/dispatch/gates/03-lifecycle.ts";
import { creatingAgentDirectory } from "../../../src/identity/agent-directory.ts";
import type { AgentDocument } from "../../../src/identity/agent-document.ts";

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);
const ERIN = "e".repeat(64);

const documents = [
  { agentId: ALICE, name: "alice" },
  { agentId: BOB, name: "bob" },
] as unknown as readonly AgentDocument[];

function refusalOf(status: string, caller: { agentId: string; links: readonly string[] }) {
  const lifecycle = {
    statusOf: ({ agentId }: AgentDocument) => (agentId === ALICE ? status : "active"),
    statusSince: () => undefined,
  };
  const { agentId, links } = caller;
  const delegation = { links: links.map((one) => ({ agentId: one })) };
  const parts = { directory: atOnce(creatingAgentDirectory(documents)), lifecycle };
  type Parts = Parameters<typeof refuseInactiveCaller>[1];
  return refuseInactiveCaller(
    { agentId, delegation } as unknown as Caller,
    parts as unknown as Parts,
  )?.status;
}

// AGTP "Agent Lifecycle", "DELEGATE"
it.each([
  ["the agent itself", { agentId: ALICE, links: [] }],
  ["what it has handed on", { agentId: BOB, links: [ALICE] }],
  ["what was handed on from there", { agentId: BOB, links: [ALICE, ERIN] }],
  ["what a peer's agent brings back of it", { agentId: ERIN, links: [ALICE, ERIN] }],
])("a suspended or retired agent keeps %s from acting", (_, caller) => {
  expect(refusalOf("suspended", caller)).toBe(503);
  expect(refusalOf("retired", caller)).toBe(410);
  expect(refusalOf("deprecated", caller)).toBeUndefined();
});
