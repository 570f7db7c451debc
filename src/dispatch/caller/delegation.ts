/**
 * Delegated work, as the pipeline sees it: the chain of hops from one agent to the next, each with its
 * scopes and its deadline. A token that a peer signed is read before the gates, since it says who is
 * asking.   AGTP "DELEGATE"
 */
import { hash } from "node:crypto";
import type { JsonRecord } from "../../base/json-value.ts";
import type { ClientCertificate } from "../../identity/client-certificate.ts";
import type { Request } from "../../wire/message.ts";
import type { Refusal } from "../refusals/refusal.ts";

/** One hop. */
export interface DelegationLink {
  /** The agent that hands the task on. */
  readonly agentId: string;
  /** The agent that is to work: an Agent-ID, or a name that only its own server can resolve. */
  readonly target: string;
  /** The server that vouches for the hop. */
  readonly serverId: string;
  /** At most what the hop before it has. */
  readonly scopes: readonly string[];
  /** Undefined for a hop within this server, until it has to be shown to another one. */
  readonly token: string | undefined;
  /** The principal of the token that it was handed on with, here. */
  readonly principalId?: string | undefined;
  /** The certificate that the agent handed on with, here; undefined: none, or at another server. */
  readonly certificate?: ClientCertificate | undefined;
}

/** A chain of hops. */
export interface Delegation {
  /** The oldest first; one at least. */
  readonly links: readonly DelegationLink[];
  /** Milliseconds since the epoch. */
  readonly deadline: number;
  /**
   * True for a request that a peer makes for one of its agents, which is the caller then; false where
   * the last link's target works, and is the caller.
   */
  readonly isArriving: boolean;
  /** The governance zone that the work stays in. */
  readonly zone?: string;
}

/** A caller, as far as it asks for others. */
interface Delegate {
  readonly delegation?: Delegation | undefined;
}

/** The agents that handed on the work of a request, the oldest first; none where its caller asks for itself. */
export function delegatorsOf({ delegation }: Delegate): readonly string[] {
  return delegation?.links.map(({ agentId }) => agentId) ?? [];
}

/**
 * A digest of those, and of the principals that they did so for: equal for work that is done for the same;
 * undefined where the caller asks for itself.
 */
export function behalfOf({ delegation }: Delegate): string | undefined {
  if (delegation === undefined) return undefined;
  const others = delegation.links.map(({ agentId, principalId = "" }) => [agentId, principalId]);
  return hash("sha256", JSON.stringify(others));
}

/** Reads what a peer vouches for. */
export interface DelegationReader {
  /** Asked of `DELEGATE /`; undefined: the request brings no token. */
  read(request: Request): Promise<Delegation | Refusal> | undefined;
}

/** Something that was done by another agent, on which this action depends; keys of the record. */
export interface PriorAction {
  readonly agent_id: string;
  readonly audit_id: string;
  /** The server that its record can be asked of, if that is another one. */
  readonly agent_uri?: string;
}

/** As a link stands in a record and in an answer. */
export function linkEntry({ agentId, target, serverId, scopes }: DelegationLink): JsonRecord {
  return {
    agent_id: agentId,
    target_agent_id: target,
    server_id: serverId,
    authority_scope: scopes,
  };
}
