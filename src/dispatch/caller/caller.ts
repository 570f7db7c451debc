/**
 * The caller, and the authority under which its request acts. Resolved once by its gate and handed
 * unchanged to every inner dispatch.   AGTP "Identity", AGTP-API §6.4 "required_scopes"
 */
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { Delegation } from "./delegation.ts";

/** An agent as its gate resolved it, or nobody. */
export interface Caller {
  readonly agentId: string | undefined;
  readonly ownerId: string | undefined;
  /** From a validated external credential only. */
  readonly principalId: string | undefined;
  readonly document: AgentDocument | undefined;
  /** The scopes this request acts under: the claim, or all that the document grants. */
  readonly authority: Authority;
  /** 1 is strongest. */
  readonly trustTier: number | undefined;
  /** True when the peer's certificate binds the Agent-ID; otherwise only the header claims it. */
  readonly isCertified: boolean;
  /** The agent of the peer's certificate, where the request names none: it gives no right. */
  readonly certifiedAs?: string | undefined;
  /** Set where the request is delegated work, or hands some on from another server. */
  readonly delegation?: Delegation | undefined;
}

/** The scopes of one request, compiled. */
export interface Authority {
  /** `claim`: the Authority-Scope header; `document`: inherited; `none`: neither. */
  readonly source: "claim" | "document" | "none";
  readonly scopes: readonly string[];
  covers(required: string): boolean;
}

/** No header, no document: nothing is covered. */
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

/** Tells whether a caller may see what belongs to others. A stranger's claim grants nothing. */
export function seesAll({ authority, document }: Caller): boolean {
  return document !== undefined && authority.covers(INSPECT_ALL);
}
