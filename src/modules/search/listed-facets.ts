/**
 * The facets whose values are the same whoever asks, and however often: they are listed when an index
 * is built. Those that are the same under two names are listed once.
 */
import { isRecord } from "../../base/json-value.ts";
import { agentTags, methodsOf } from "./agent-tags.ts";
import type { SearchEntry } from "./entry.ts";
import { zonesOf } from "./zones.ts";

/** The name of a facet that is listed. */
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

/** Each by its name. */
export const LISTED_FACETS: readonly (readonly [ListedFacet, FacetValues])[] = (
  Object.keys(VALUES) as ListedFacet[]
).map((name) => [name, VALUES[name]]);

function memberTexts({ facets }: SearchEntry, name: string): readonly string[] {
  const document = facets.agent?.document;
  const value: unknown = isRecord(document) ? document[name] : undefined;
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list.filter((item): item is string => typeof item === "string");
}
