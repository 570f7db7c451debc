/**
 * An Agent Identity Document: who an agent is, and which scopes it holds. Both field styles are
 * accepted: the drafts' `scopes_accepted` and the reference's `requires.scopes`.
 * AGTP "Agent Identity Document"
 */
import type { Genesis } from "./genesis.ts";
import type { TrustPosture } from "./trust-posture.ts";

/** An agent that this server knows. */
export interface AgentDocument extends TrustPosture {
  /** 64 lower-case hex digits. */
  readonly agentId: string;
  readonly name: string;
  readonly description: string;
  readonly principal: string;
  readonly principalId: string;
  readonly status: AgentStatus;
  /** The scopes that the agent holds, wildcards included; empty if an untrusted issuer signed the document. */
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
  /**
   * The part of this server that it was issued for, such as `openwop/vendor.acme.clerk`; undefined
   * if the operator supplied it.
   */
  readonly issuedFor?: string;
  /** The reason why an agent that is declared here cannot be called. */
  readonly notCallable?: string;
  /** The path by which EXECUTE calls an agent that has one of its own. */
  readonly executePath?: string;
  /** The stamp's cache of the agent's header lines; nothing else reads it. */
  stamped?: string;
}

export type AgentStatus = "active" | "suspended" | "retired" | "deprecated";

/**
 * `none`: unsigned, the operator's own statement. Otherwise a verified signature, by an issuer that
 * is trusted or not.
 */
export type SignatureStanding = "none" | "trusted" | "untrusted";

/** The current status and activity of this server's agents. */
export interface AgentStanding {
  statusOf(agent: AgentDocument): AgentStatus;
  /** The time of the last status change, RFC 3339; undefined if the status never changed here. */
  statusSince(agent: AgentDocument): string | undefined;
  /** The migration notice given when the agent was deprecated; undefined if there is none. */
  migrationOf(agent: AgentDocument): AgentMigration | undefined;
  /** The agent's last action on this server, in any process; undefined if there is none. */
  lastAction(agentId: string): Promise<AgentAction | undefined>;
}

/** The migration notice of a deprecated agent; keys are the wire's own.   AGTP "DEPRECATE" */
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
