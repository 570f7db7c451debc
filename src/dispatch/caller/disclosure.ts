/** Decides which agents a caller may learn of, by `[agents] disclosure`.   AGTP-API §8.5 */

import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { AgentsConfig } from "../../identity/identity-sections.ts";

/** The agents, and to whom the operator discloses them. */
export interface Disclosure {
  readonly agents: AgentDirectory;
  readonly disclosure: AgentsConfig["disclosure"];
}

/** The agents that a caller may learn of: all, or none. */
export function disclosedAgents(
  disclosed: Disclosure,
  agentId: string | undefined,
): readonly AgentDocument[] {
  return isDisclosedTo(disclosed, agentId) ? disclosed.agents.list() : [];
}

/** "authenticated" discloses to an agent that this server knows. */
export function isDisclosedTo(
  { agents, disclosure }: Disclosure,
  agentId: string | undefined,
): boolean {
  switch (disclosure) {
    case "public":
      return true;
    case "authenticated":
      return agentId !== undefined && agents.find(agentId) !== undefined;
    case "private":
      return false;
  }
}
