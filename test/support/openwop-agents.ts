/** Agents for runs: a catalog of one pack, and turns that a test scripts. */
import type { AgentCatalog, InventoryEntry } from "../../src/modules/openwop/agent-catalog.ts";
import type {
  AgentExecutor,
  AgentOutcome,
  AgentTurn,
} from "../../src/modules/openwop/agent-executor.ts";

export const CONCIERGE = "core.openwop.desk.concierge";
export const BOOKER = "core.openwop.desk.booker";

function entry(agentId: string, persona: string): InventoryEntry {
  return {
    ...{ agentId, persona, label: persona, modelClass: "coding" },
    ...{ packName: "core.openwop.desk", packVersion: "1.2.0" },
    ...{ toolAllowlist: ["agtp:BOOK /rooms"], hasHandoffSchemas: true },
  };
}

function manifestOf({ agentId, persona, modelClass }: InventoryEntry) {
  return { agentId, persona, modelClass, systemPrompt: `You are ${persona}.` };
}

const ENTRIES = [entry(BOOKER, "Booker"), entry(CONCIERGE, "Concierge")];

/** Both agents; a task of either must have a text, a result a reply. */
export const CATALOG: AgentCatalog = {
  inventory: (tenant) => (tenant === "other" ? [] : ENTRIES),
  find: (agentId, tenant) => CATALOG.inventory(tenant).find((one) => one.agentId === agentId),
  reference: (agentId, tenant) => {
    const found = CATALOG.find(agentId, tenant);
    if (found === undefined) return undefined;
    const { persona: name, packVersion: version } = found;
    return { agentId, name, modelClass: "code", version, sourceManifestId: agentId };
  },
  packs: (tenant) =>
    tenant === "other"
      ? []
      : [{ name: "core.openwop.desk", version: "1.2.0", agents: ENTRIES.map(manifestOf) }],
  exports: () => ({ manifests: ENTRIES.map(manifestOf), packs: [] }),
  checkHandoff: (_, __, side, value) => {
    const member = side === "task" ? "text" : "reply";
    const isValid = typeof value === "object" && value !== null && Object.hasOwn(value, member);
    if (isValid) return undefined;
    return { code: `handoff_${side}_schema_violation`, message: `must have ${member}` };
  },
};

/** Takes turns as the test says; every agent of the catalog is there. */
export function scriptedAgents(
  takeTurn: (turn: AgentTurn) => Promise<AgentOutcome>,
): AgentExecutor {
  return {
    has: (agentId, tenant) => CATALOG.find(agentId, tenant) !== undefined,
    takeTurn,
  };
}

/** Thinks, calls a tool, and decides. */
export async function ordinaryTurn({ agentId, task, emit }: AgentTurn): Promise<AgentOutcome> {
  await emit({ type: "agent.reasoned", payload: { agentId, reasoning: "let me see" } });
  const called = { agentId, toolName: "agtp:BOOK /rooms", callId: `call-${Math.random()}` };
  const causationId = await emit({ type: "agent.toolCalled", payload: called });
  const returned = { ...called, status: "ok", outcome: { room: 9 }, durationMs: 3 };
  await emit({ type: "agent.toolReturned", payload: returned, causationId });
  await emit({ type: "agent.decided", payload: { agentId, decision: "book", confidence: 0.9 } });
  return { kind: "completed", result: { reply: "booked", task } };
}
