/**
 * An Agent Identity Document: who an agent is, and which scopes it holds. Both field styles are
 * accepted: the drafts' `scopes_accepted` and the reference's `requires.scopes`.
 * AGTP "Agent Identity Document"
 */

/** An agent that this server knows. */
export interface AgentDocument {
  /** 64 lower-case hex characters. */
  readonly agentId: string;
  readonly name: string;
  readonly description: string;
  readonly principal: string;
  readonly principalId: string;
  readonly ownerId: string | undefined;
  readonly status: AgentStatus;
  /** Held scopes, wildcards included. */
  readonly scopes: readonly string[];
  readonly trustTier: 1 | 2 | 3;
  readonly verificationPath: string;
  readonly trustWarning: string | undefined;
  /** The document as loaded. */
  readonly document: Readonly<Record<string, unknown>>;
  /** The declaring file, relative to the deployment directory. */
  readonly file: string;
}

/** Where an agent is in its life. */
export type AgentStatus = "active" | "suspended" | "retired" | "deprecated";
