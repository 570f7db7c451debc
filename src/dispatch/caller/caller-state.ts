/** The registers that say where callers stand while the server runs, as the gates look at them. */
import type { AgentStanding } from "../../identity/agent-document.ts";
import type { CertificateRegister } from "../../state/registers/certificate-register.ts";
import type { SessionRegister } from "../../state/registers/session-register.ts";
import type { SessionHold, TaskPause } from "../refusals/task-refusals.ts";

/** The state of callers that may change between two requests. */
export interface CallerState {
  readonly lifecycle: Pick<AgentStanding, "statusOf" | "statusSince">;
  readonly certificates: Pick<CertificateRegister, "isRevoked">;
  readonly sessions: Pick<SessionRegister, "isOpenTo" | "admit">;
  readonly suspensions: {
    /** Undefined: nothing keeps the session from being used. */
    holdOf(sessionId: string): SessionHold | undefined;
  };
  readonly escalations: {
    /** Undefined: the task may go on. */
    pauseOf(agentId: string, taskId: string): TaskPause | undefined;
  };
}
