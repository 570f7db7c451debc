/** Decides which agents a caller may learn of, by `[agents] disclosure`.   AGTP-API §8.5 */

import type { AgentDirectory } from "../../identity/agent-directory.ts";
import type { AgentsConfig } from "../../identity/identity-sections.ts";

/** The disclosure setting, and the deployment with its agents. */
interface DisclosureContext {
  readonly config: { readonly agents: Pick<AgentsConfig, "disclosure"> };
  deployment(): { readonly directory: AgentDirectory };
}

/**
 * Tells whether a caller may learn which agents exist; "authenticated" discloses them to agents
 * that this server knows.
 */
export function isDisclosedTo(
  { config, deployment }: DisclosureContext,
  agentId: string | undefined,
): boolean {
  switch (config.agents.disclosure) {
    case "public":
      return true;
    case "authenticated":
      return agentId !== undefined && deployment().directory.find(agentId) !== undefined;
    case "private":
      return false;
  }
}
