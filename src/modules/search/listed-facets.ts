/**
 * The facets whose values are the same whoever asks, and however often: they are listed when an index
 * is built. Those that are the same under two names are listed once.
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

/** Reads the values of a facet; undefined is none. */
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

/** The names in its document, in order; none for nobody. */
export function agentTags(agent: AgentDocument | undefined): readonly string[] {
  if (agent === undefined) return [];
  const { document } = agent;
  return MEMBERS.flatMap((member) => namesIn(document[member])).slice(0, MAX_TAGS);
}

/** The methods that its document says it works with; none for nobody. */
export function methodsOf(agent: AgentDocument | undefined): readonly string[] {
  const requires = agent?.document["requires"];
  return isRecord(requires) ? namesIn(requires["methods"]).slice(0, MAX_TAGS) : [];
}

/** Texts, and of objects their name and tags. */
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
function zonesOf(agent: AgentDocument | undefined): readonly string[] {
  if (agent === undefined) return [];
  const { governanceZone, document } = agent;
  const accepted: unknown = document["zones_accepted"];
  const others = listIn(accepted);
  return [governanceZone, ...others].filter((zone): zone is string => typeof zone === "string");
}

/** Tells whether an agent may be shown to a request that is bound to these zones. */
export function isInZones(agent: AgentDocument, zones: ReadonlySet<string> | undefined): boolean {
  if (zones === undefined) return true;
  const own = zonesOf(agent);
  return own.length === 0 || own.some((zone) => zones.has(zone));
}
