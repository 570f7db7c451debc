/**
 * Delegated work, as the pipeline sees it: the chain of hops from one agent to the next, each with
 * its scopes and its deadline. A token signed by a peer is read before the gates, since it
 * determines the caller.   AGTP "DELEGATE"
 */
import { hash } from "node:crypto";
import type { JsonRecord } from "../../base/json-value.ts";
import type { ClientCertificate } from "../../identity/client-certificate.ts";
import type { Request } from "../../wire/message.ts";
import type { Refusal } from "../refusals/refusal.ts";

/** One hop of a delegation. */
export interface DelegationLink {
  /** The agent that delegates the task. */
  readonly agentId: string;
  /** The agent that receives the task: an Agent-ID, or a name that only its own server can resolve. */
  readonly target: string;
  /** The server that vouches for the hop. */
  readonly serverId: string;
  /** The delegated scopes, never more than the hop before has. */
  readonly scopes: readonly string[];
  /** The delegation token; undefined for a hop within this server, until another server needs it. */
  readonly token: string | undefined;
  /** The principal for whom the agent delegated here. */
  readonly principalId?: string | undefined;
  /** The certificate that the agent delegated with; undefined without one, or at another server. */
  readonly certificate?: ClientCertificate | undefined;
}

/** A delegation chain with its deadline. */
export interface Delegation {
  /** The hops, oldest first; at least one. */
  readonly links: readonly DelegationLink[];
  /** The deadline, in milliseconds since the epoch. */
  readonly deadline: number;
  /**
   * True if a peer sends the request for one of its agents, which is the caller; false if the last
   * hop's target is working here, and is the caller.
   */
  readonly isArriving: boolean;
  /** The governance zone that the work stays in. */
  readonly zone?: string;
}

/** The part of a caller that tells for whom it acts. */
interface Delegate {
  readonly delegation?: Delegation | undefined;
}

/** Returns the agents that delegated the work, oldest first; empty if the caller acts for itself. */
export function delegatorsOf({ delegation }: Delegate): readonly string[] {
  return delegation?.links.map(({ agentId }) => agentId) ?? [];
}

/**
 * Returns a digest of the delegators and their principals, equal for work on behalf of the same
 * ones; undefined if the caller acts for itself.
 */
export function behalfOf({ delegation }: Delegate): string | undefined {
  if (delegation === undefined) return undefined;
  const others = delegation.links.map(({ agentId, principalId = "" }) => [agentId, principalId]);
  return hash("sha256", JSON.stringify(others));
}

/** Reads the delegation that a peer vouches for. */
export interface DelegationReader {
  /** Reads the token of a request to `DELEGATE /`; undefined if it carries none. */
  read(request: Request): Promise<Delegation | Refusal> | undefined;
}

/** Another agent's action on which this one depends; keys are the record's. */
export interface PriorAction {
  readonly agent_id: string;
  readonly audit_id: string;
  /** The server that holds its record, if that is another one. */
  readonly agent_uri?: string;
}

/** Builds the entry of a hop for records and answers. */
export function linkEntry({ agentId, target, serverId, scopes }: DelegationLink): JsonRecord {
  return {
    agent_id: agentId,
    target_agent_id: target,
    server_id: serverId,
    authority_scope: scopes,
  };
}
