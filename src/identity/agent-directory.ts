/** Which agents this server knows: the seam that gate 00 and the DISCOVER built-ins look through. */
import type { AgentDocument } from "./agent-document.ts";

/** The agents of one server. */
export interface AgentDirectory {
  /** By canonical Agent-ID. */
  find(agentId: string): AgentDocument | undefined;
  /** In a stable order. */
  list(): readonly AgentDocument[];
}

/** A directory over documents that are already loaded. */
export function createAgentDirectory(documents: readonly AgentDocument[]): AgentDirectory {
  const byId = new Map(documents.map((document) => [document.agentId, document]));
  return { find: (agentId) => byId.get(agentId), list: () => documents };
}
