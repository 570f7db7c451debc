/** The server manifest's content, from what the server loaded.   AGTP-API §8 */

import { type Catalog, FLOOR_GROUPS, FLOOR_METHODS } from "../../catalog/catalog.ts";
import type { ApiEntry } from "../../dispatch/module/listing-sections.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import type { AgentDocument, AgentStatus } from "../../identity/agent-document.ts";
import type { DiscoverySections } from "./config.ts";
import type { LongList, ManifestContent } from "./document.ts";

/** The parts that a manifest is made from. */
export interface ManifestSource {
  readonly config: DiscoverySections;
  readonly catalog: Catalog;
  readonly apis: readonly ApiEntry[];
  /** Every listed endpoint, built-ins included. */
  readonly endpoints: readonly EndpointDefinition[];
  /** Tells whether a method of the floor is answered. */
  isServed(method: string): boolean;
  readonly isSynthesizing: boolean;
  /** The agents this variant discloses. */
  readonly agents: readonly AgentDocument[];
  /** The standing of each of them now. */
  statusOf(agent: AgentDocument): AgentStatus;
  /** `policies.methods` as it applies, §9.3. */
  readonly methodPolicy: Readonly<Record<string, unknown>>;
  readonly supportedFeatures: readonly string[];
  /** The protocols that the operator lists, and those that this server speaks for its agents. */
  readonly hostedProtocols: DiscoverySections["hostedProtocols"];
}

/** The members of which there may be very many. */
interface ManifestLists {
  readonly endpoints: LongList;
  readonly agents: LongList;
}

/** Every field of §8.2 but the document's own version, dates and signature. */
export function buildManifest(source: ManifestSource, lists: ManifestLists): ManifestContent {
  const { config, catalog } = source;
  const { policies, agents } = config;
  return {
    agtp_version: "1.0",
    agtp_api_version: "1.0",
    catalog_version: catalog.version,
    catalog_versions_supported: [catalog.version],
    server: serverBlock(source),
    embedded_methods: embeddedMethods(source),
    custom_methods: policies.methods.custom,
    endpoints: lists.endpoints,
    agent_disclosure: agents.disclosure,
    hosted_agents: lists.agents,
    agent_disclosure_notice: agents.disclosureNotice ?? null,
    apis: source.apis,
    hosted_protocols: source.hostedProtocols,
    policies: {
      wildcards_accepted: policies.wildcardsAccepted,
      anonymous_discovery: policies.anonymousDiscovery,
      scope_required_for_invocation: policies.scopeRequiredForInvocation,
      synthesis_enabled: source.isSynthesizing,
      max_synthesis_depth: policies.maxSynthesisDepth,
      methods: source.methodPolicy,
    },
  };
}

function serverBlock({ config: { server }, supportedFeatures }: ManifestSource) {
  return {
    server_id: server.serverId,
    domain: server.domain ?? null,
    operator: server.operator ?? null,
    contact: server.contact ?? null,
    supported_features: supportedFeatures,
  };
}

/** Lists the floor methods; an entry says if the operator's own endpoint answers it on "/". */
function embeddedMethods({
  catalog,
  endpoints,
  isServed,
}: ManifestSource): readonly Record<string, string>[] {
  const bound = new Set(endpoints.filter(({ path }) => path === "/").map(({ method }) => method));
  const groups = Object.entries(FLOOR_GROUPS).flatMap(([group, names]) =>
    names.map((name): [string, string] => [name, group]),
  );
  const groupOf = new Map(groups);
  const floor: ReadonlySet<string> = new Set(FLOOR_METHODS);
  const embedded = catalog.embedded.filter((name) => !floor.has(name) || isServed(name));
  return embedded.map((name) => ({
    name,
    group: groupOf.get(name) ?? "",
    description: catalog.verbs.get(name)?.description ?? "",
    ...(name !== "DISCOVER" && bound.has(name) ? { binding: "operator" } : {}),
  }));
}

/** The entry of an agent, with where it stands. */
export function agentReference(agent: AgentDocument, status: AgentStatus): Record<string, unknown> {
  return {
    agent_id: agent.agentId,
    name: agent.name,
    description: agent.description,
    status,
    trust_tier: agent.trustTier,
    verification_path: agent.verificationPath,
  };
}
