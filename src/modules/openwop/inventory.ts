/**
 * The inventory of agents, as AGTP and HTTP show it: closed entries, without a prompt, a schema or a
 * credential. What an agent does without on this host stands in its entry.   OpenWOP RFC 0072 §A,
 * RFC 0080 §C
 */
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

/** The entry of an installed agent. */
export function inventoryEntry(agent: InstalledAgent, redactor: Redactor): InventoryEntry {
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
