/** The standing of an agent right now, as opposed to what its document said when it was signed. */
import type { AgentDocument, AgentStatus } from "./agent-document.ts";

/** The live state of this server's agents. */
export interface AgentStanding {
  statusOf(agent: AgentDocument): AgentStatus;
  /** When the agent came to its status, RFC 3339; undefined: it has had no other here. */
  statusSince(agent: AgentDocument): string | undefined;
  /** The last thing that the agent did here, whichever process did it; undefined: nothing. */
  lastAction(agentId: string): Promise<AgentAction | undefined>;
}

/** Something an agent did. */
export interface AgentAction {
  readonly method: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}
