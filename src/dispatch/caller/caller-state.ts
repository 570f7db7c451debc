/** The registers of callers' state at run time, as the gates read them. */
import type { AgentStanding } from "../../identity/agent-document.ts";
import type { CertificateRegister } from "../../state/registers/certificate-register.ts";
import type { SessionRegister } from "../../state/registers/session-register.ts";
import type { SessionHold, TaskPause } from "../refusals/task-refusals.ts";

/** The state of callers, which may change between two requests. */
export interface CallerState {
  readonly lifecycle: Pick<AgentStanding, "statusOf" | "statusSince">;
  readonly certificates: Pick<CertificateRegister, "isRevoked">;
  readonly sessions: Pick<SessionRegister, "isOpenTo" | "admit">;
  readonly suspensions: {
    /** Returns the suspension that holds a session; undefined if it may be used. */
    holdOf(sessionId: string): SessionHold | undefined;
  };
  readonly escalations: {
    /** Returns the decision that a task waits for; undefined if it may continue. */
    pauseOf(agentId: string, taskId: string): TaskPause | undefined;
  };
}
