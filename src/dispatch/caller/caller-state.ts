/**
 * The standing of agents, sessions, tasks and certificates while the server runs, as the gates ask.
 */
import type { AgentDocument, AgentStatus } from "../../identity/agent-document.ts";
import type { ClientCertificate } from "../../identity/client-certificate.ts";
import type { TaskStanding } from "../task-pause.ts";
import type { SessionStanding } from "./session-use.ts";

/** The state of callers that may change between two requests. */
export interface CallerState extends SessionStanding, TaskStanding {
  statusOf(agent: AgentDocument): AgentStatus;
  /** When the agent came to its status; RFC 3339. */
  statusSince(agent: AgentDocument): string | undefined;
  isRevoked(certificate: ClientCertificate, agentId: string): boolean;
}

/** Where agents alone stand. */
export type LifecycleStanding = Pick<CallerState, "statusOf" | "statusSince">;
