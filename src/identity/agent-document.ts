/**
 * An Agent Identity Document: who an agent is, and which scopes it holds. Both field styles are
 * accepted: the drafts' `scopes_accepted` and the reference's `requires.scopes`.
 * AGTP "Agent Identity Document"
 */
import type { Genesis } from "./genesis.ts";
import type { TrustPosture } from "./trust-posture.ts";

/** An agent that this server knows. */
export interface AgentDocument extends TrustPosture {
  /** 64 lower-case hex characters. */
  readonly agentId: string;
  readonly name: string;
  readonly description: string;
  readonly principal: string;
  readonly principalId: string;
  readonly status: AgentStatus;
  /** Held scopes, wildcards included; none where an untrusted issuer signed the document. */
  readonly scopes: readonly string[];
  /** SHA-256 of the DER certificate that the agent is to present, lower-case hex. */
  readonly certFingerprint: string | undefined;
  /** The birth record that the Agent-ID was derived from, if there is one. */
  readonly genesis: Genesis | undefined;
  /** The issuer behind the document. */
  readonly signature: SignatureStanding;
  /** The document as loaded. */
  readonly document: Readonly<Record<string, unknown>>;
  /** The declaring file, relative to the deployment directory. */
  readonly file: string;
  /** The part that this server issued it for, such as `openwop/vendor.acme.clerk`; undefined: the operator gave it. */
  readonly issuedFor?: string;
  /** The reason why an agent that is declared here cannot be called. */
  readonly notCallable?: string;
  /** The path by which EXECUTE calls an agent that has one of its own. */
  readonly executePath?: string;
  /** Left here by the stamp, and looked at by nobody else. */
  stamped?: string;
}

export type AgentStatus = "active" | "suspended" | "retired" | "deprecated";

/** None: the operator's own word. Else whether the issuer of a verified signature is trusted. */
export type SignatureStanding = "none" | "trusted" | "untrusted";

/** The live state of this server's agents. */
export interface AgentStanding {
  statusOf(agent: AgentDocument): AgentStatus;
  /** When the agent came to its status, RFC 3339; undefined: it has had no other here. */
  statusSince(agent: AgentDocument): string | undefined;
  /** The way on that was told when the agent was deprecated; undefined: none. */
  migrationOf(agent: AgentDocument): AgentMigration | undefined;
  /** The last thing that the agent did here, whichever process did it; undefined: nothing. */
  lastAction(agentId: string): Promise<AgentAction | undefined>;
}

/** The way on from an agent that is deprecated; keys are the wire's own.   AGTP "DEPRECATE" */
export interface AgentMigration {
  readonly successor_agent_id?: string;
  /** RFC 3339. */
  readonly migration_deadline?: string;
}

interface AgentAction {
  readonly method: string;
  /** Milliseconds since the epoch. */
  readonly at: number;
}
