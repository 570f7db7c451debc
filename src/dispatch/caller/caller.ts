/**
 * The caller and the authority of its request, resolved once by gate 00 and passed unchanged to
 * every inner dispatch.   AGTP "Identity", AGTP-API §6.4 "required_scopes"
 */
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { Delegation } from "./delegation.ts";

/** The resolved caller, which may be anonymous. */
export interface Caller {
  readonly agentId: string | undefined;
  readonly ownerId: string | undefined;
  /** The principal; only a validated external credential sets it. */
  readonly principalId: string | undefined;
  readonly document: AgentDocument | undefined;
  /** The scopes this request acts under: the claim, or all that the document grants. */
  readonly authority: Authority;
  /** The trust tier; 1 is the strongest. */
  readonly trustTier: number | undefined;
  /** True if the peer's certificate binds the Agent-ID; otherwise only the header claims it. */
  readonly isCertified: boolean;
  /** The agent of the peer's certificate if the request names none; it grants no rights. */
  readonly certifiedAs?: string | undefined;
  /** The delegation, for delegated work and for work handed on from another server. */
  readonly delegation?: Delegation | undefined;
}

/** The scopes of one request, compiled. */
export interface Authority {
  /** The source of the scopes: the Authority-Scope header, the document, or neither. */
  readonly source: "claim" | "document" | "none";
  readonly scopes: readonly string[];
  covers(required: string): boolean;
}

/** The authority without header and document, which covers nothing. */
export const NO_AUTHORITY: Authority = { source: "none", scopes: [], covers: () => false };

/** A caller that names no agent. */
export const ANONYMOUS: Caller = {
  agentId: undefined,
  ownerId: undefined,
  principalId: undefined,
  document: undefined,
  authority: NO_AUTHORITY,
  trustTier: undefined,
  isCertified: false,
};

/** The scope of operators: it shows everybody's contracts and attempts.   AGTP-API §5.8.7 */
export const INSPECT_ALL = "inspect:all";

/** Tells whether a caller may see what belongs to others. An unknown agent's claim grants nothing. */
export function seesAll({ authority, document }: Caller): boolean {
  return document !== undefined && authority.covers(INSPECT_ALL);
}
