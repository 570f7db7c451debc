/**
 * Facets with values that do not depend on the caller or the time: they are listed when an index is built. Facets with
 * two names are listed once.
 */
import { isRecord, listIn } from "../../base/json-value.ts";
import type { Caller } from "../../dispatch/caller/caller.ts";
import type { Peer } from "../../dispatch/caller/peer.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { SearchEntry } from "./entry.ts";

export type ListedFacet =
  | ("kind" | "method" | "namespace" | "capability" | "tag" | "impact" | "actor")
  | ("name" | "agent_id" | "principal" | "owner_id" | "geography" | "org_domain")
  | "governance_zone";

/** Returns the values of a facet; undefined ones are skipped. */
type FacetValues = (entry: SearchEntry) => readonly (string | undefined)[];

const VALUES: Readonly<Record<ListedFacet, FacetValues>> = {
  kind: ({ kind }) => [kind, `${kind}s`],
  method: ({ facets }) => [facets.method],
  namespace: ({ facets }) => [facets.namespace],
  capability: ({ facets: { capability, agent } }) => [
    capability,
    ...agentTags(agent),
    ...methodsOf(agent),
  ],
  tag: ({ facets: { namespace, capability, agent, tags = [] } }) => [
    ...[namespace, capability],
    ...agentTags(agent),
    ...tags,
  ],
  impact: ({ facets }) => [facets.impact],
  actor: ({ facets }) => [facets.actor],
  name: ({ facets: { agent }, id }) => [agent?.name ?? id],
  agent_id: ({ facets }) => [facets.agent?.agentId],
  principal: ({ facets: { agent } }) => [agent?.principal, agent?.principalId],
  owner_id: ({ facets }) => [facets.agent?.ownerId],
  geography: (entry) => memberTexts(entry, "geography"),
  org_domain: (entry) => memberTexts(entry, "org_domain"),
  governance_zone: ({ facets }) => zonesOf(facets.agent),
};

export const LISTED_FACETS: readonly (readonly [ListedFacet, FacetValues])[] = (
  Object.keys(VALUES) as ListedFacet[]
).map((name) => [name, VALUES[name]]);

function memberTexts({ facets }: SearchEntry, name: string): readonly string[] {
  const document = facets.agent?.document;
  const value: unknown = isRecord(document) ? document[name] : undefined;
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((item): item is string => typeof item === "string");
}

const MEMBERS = ["capabilities", "skills", "modalities", "tools"] as const;
const MAX_TAGS = 256;

/** Returns the tags of an agent's document, in order; empty without an agent. */
export function agentTags(agent: AgentDocument | undefined): readonly string[] {
  if (agent === undefined) return [];
  const { document } = agent;
  return MEMBERS.flatMap((member) => namesIn(document[member])).slice(0, MAX_TAGS);
}

/** Returns the methods that an agent's document requires; empty without an agent. */
export function methodsOf(agent: AgentDocument | undefined): readonly string[] {
  const requires = agent?.document["requires"];
  return isRecord(requires) ? namesIn(requires["methods"]).slice(0, MAX_TAGS) : [];
}

/** Returns the texts of a list, and the name, id and tags of its objects. */
function namesIn(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  return value.flatMap((item: unknown) => {
    if (!isRecord(item)) return typeof item === "string" ? [item] : [];
    const { name, id, tags } = item;
    const others = listIn(tags);
    return [name, id, ...others].filter((one): one is string => typeof one === "string");
  });
}

/**
 * Returns the zones that a request is bound to: the certificate's, else the caller's own and those it accepts. A zone
 * named by the request narrows them, and binds a caller without any.
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

/** Returns the zones that an agent belongs to or accepts callers from. */
function zonesOf(agent: AgentDocument | undefined): readonly string[] {
  if (agent === undefined) return [];
  const { governanceZone, document } = agent;
  const accepted: unknown = document["zones_accepted"];
  const others = listIn(accepted);
  return [governanceZone, ...others].filter((zone): zone is string => typeof zone === "string");
}

/** True if an agent may be shown to a request bound to these zones. */
export function isInZones(agent: AgentDocument, zones: ReadonlySet<string> | undefined): boolean {
  if (zones === undefined) return true;
  const own = zonesOf(agent);
  return own.length === 0 || own.some((zone) => zones.has(zone));
}
