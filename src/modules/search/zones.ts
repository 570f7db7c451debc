/**
 * Governance zones: an agent that is bound to one is shown no agent of another. An agent that names
 * no zone is in none, and outside of none.   AGTP "Zones", AGTP-CERT "Governance Zone"
 */
import type { Caller } from "../../dispatch/caller/caller.ts";
import type { Peer } from "../../dispatch/caller/peer.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";

/**
 * The zones a request is bound to: the certificate's, else the caller's own and those that it
 * accepts. A zone that the request names narrows them, and binds a caller that has none.
 */
export function boundZones(
  { document }: Pick<Caller, "document">,
  { certificate }: Pick<Peer, "certificate">,
  named: string | undefined,
): ReadonlySet<string> | undefined {
  const certified = certificate?.agent?.governanceZone;
  const own = certified === undefined ? zonesOf(document) : [certified];
  if (named === undefined) return own.length === 0 ? undefined : new Set(own);
  if (own.length === 0) return new Set([named]);
  return new Set(own.filter((zone) => zone === named));
}

/** The zones that an agent belongs to or accepts callers from. */
export function zonesOf(agent: AgentDocument | undefined): readonly string[] {
  if (agent === undefined) return [];
  const { governanceZone, document } = agent;
  const accepted: unknown = document["zones_accepted"];
  const others: readonly unknown[] = Array.isArray(accepted) ? accepted : [];
  return [governanceZone, ...others].filter((zone): zone is string => typeof zone === "string");
}

/** Tells whether an agent may be shown to a request that is bound to these zones. */
export function isWithin(agent: AgentDocument, zones: ReadonlySet<string> | undefined): boolean {
  if (zones === undefined) return true;
  const own = zonesOf(agent);
  return own.length === 0 || own.some((zone) => zones.has(zone));
}
