/**
 * The inventory of agents, as AGTP and HTTP show it: closed entries, without a prompt, a schema or a
 * credential. What an agent does without on this host stands in its entry.   OpenWOP RFC 0072 §A,
 * RFC 0080 §C
 */
import type { AgentRegistry } from "./agent-registry.ts";
import type { InstalledAgent, MemoryShape } from "./installed-agent.ts";
import type { Redactor } from "./redaction.ts";

/** One agent of the inventory. */
export interface InventoryEntry {
  readonly agentId: string;
  readonly persona: string;
  readonly label: string;
  readonly description?: string;
  readonly modelClass: string;
  readonly packName: string;
  readonly packVersion: string;
  readonly toolAllowlist: readonly string[];
  readonly hasHandoffSchemas: boolean;
  readonly memoryShape?: MemoryShape;
  readonly confidenceThreshold?: number;
  readonly degraded?: readonly string[];
  readonly memoryDegraded?: true;
  readonly degradedMemoryDimensions?: readonly string[];
}

/** The body of `GET /v1/agents` and `QUERY /agents`. */
interface InventoryList {
  readonly agents: readonly InventoryEntry[];
  readonly total: number;
}

/** The agents that a tenant can be shown. */
export interface AgentInventory {
  /** Sorted by agent id. */
  list(tenant: string): InventoryList;
  /** Undefined: there is no such agent, for this tenant. */
  find(agentId: string, tenant: string): InventoryEntry | undefined;
}

/** The inventory of a registry; entries are made once. */
export function createInventory(registry: AgentRegistry, redactor: Redactor): AgentInventory {
  const entries = new Map(
    registry.all.map((agent) => [agent, Object.freeze(inventoryEntry(agent, redactor))]),
  );
  const entryOf = (agent: InstalledAgent): readonly InventoryEntry[] => {
    const entry = entries.get(agent);
    return entry === undefined ? [] : [entry];
  };
  return {
    list: (tenant) => {
      const agents = registry.list(tenant).flatMap(entryOf);
      return { agents, total: agents.length };
    },
    find: (agentId, tenant) => {
      const agent = registry.find(agentId, tenant);
      return agent && entryOf(agent)[0];
    },
  };
}

function inventoryEntry(agent: InstalledAgent, redactor: Redactor): InventoryEntry {
  const { description, memoryShape, confidenceThreshold, degraded, pack } = agent;
  const dimensions = unmetDimensions(memoryShape);
  return {
    agentId: agent.agentId,
    persona: redactor.text(agent.persona),
    label: redactor.text(agent.label),
    ...(description === undefined ? {} : { description: redactor.text(description) }),
    modelClass: agent.modelClass,
    packName: pack.name,
    packVersion: pack.version,
    toolAllowlist: agent.toolAllowlist.map((tool) => redactor.text(tool)),
    hasHandoffSchemas: agent.taskSchema !== undefined || agent.returnSchema !== undefined,
    ...(memoryShape === undefined ? {} : { memoryShape }),
    ...(confidenceThreshold === undefined ? {} : { confidenceThreshold }),
    ...(degraded.length === 0 ? {} : { degraded }),
    ...(dimensions.length === 0
      ? {}
      : { memoryDegraded: true, degradedMemoryDimensions: dimensions }),
  };
}

/** A turn remembers its own steps and nothing beyond them: that is a scratchpad, and no more. */
function unmetDimensions(shape: MemoryShape = {}): readonly string[] {
  return [
    ...(shape.conversation === true ? ["read", "write"] : []),
    ...(shape.longTerm === true ? ["long-term-durability"] : []),
  ];
}
