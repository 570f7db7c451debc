/** The server manifest's content, from what the server loaded.   AGTP-API §8 */

import { FLOOR_GROUPS, FLOOR_METHODS } from "../../catalog/catalog.ts";
import type { AgentDocument, AgentStatus } from "../../identity/agent-document.ts";
import type { DiscoveryContext, DiscoverySections } from "./config.ts";
import type { LongList, ManifestContent } from "./document.ts";

/** The members of which there may be very many. */
interface ManifestLists {
  readonly endpoints: LongList;
  readonly agents: LongList;
}

/** Every field of §8.2 but the document's own version, dates and signature. */
export function buildManifest(context: DiscoveryContext, lists: ManifestLists): ManifestContent {
  const { config, catalog, methodPolicy } = context;
  const { features, apis, hostedProtocols } = context.deployment();
  const { policies, agents } = config;
  return {
    agtp_version: "1.0",
    agtp_api_version: "1.0",
    catalog_version: catalog.version,
    catalog_versions_supported: [catalog.version],
    server: serverBlock(config, features),
    embedded_methods: embeddedMethods(context),
    custom_methods: policies.methods.custom,
    endpoints: lists.endpoints,
    agent_disclosure: agents.disclosure,
    hosted_agents: lists.agents,
    agent_disclosure_notice: agents.disclosureNotice ?? null,
    apis: apis(),
    hosted_protocols: withOperators(
      config.hostedProtocols.filter(({ method }) => methodPolicy.isKnown(method)),
      hostedProtocols,
    ),
    policies: {
      wildcards_accepted: policies.wildcardsAccepted,
      anonymous_discovery: policies.anonymousDiscovery,
      scope_required_for_invocation: policies.scopeRequiredForInvocation,
      synthesis_enabled: features.includes("synthesis"),
      max_synthesis_depth: policies.maxSynthesisDepth,
      methods: methodPolicy.projection,
    },
  };
}

function serverBlock({ server }: DiscoverySections, features: readonly string[]) {
  return {
    server_id: server.serverId,
    domain: server.domain ?? null,
    operator: server.operator ?? null,
    contact: server.contact ?? null,
    supported_features: supportedFeatures(features),
  };
}

/** Lists the floor methods; an entry says if the operator's own endpoint answers it on "/". */
function embeddedMethods({
  catalog,
  deployment,
}: DiscoveryContext): readonly Record<string, string>[] {
  const { registry, listed } = deployment();
  const onRoot = listed.filter(({ definition }) => definition.path === "/");
  const bound = new Set(onRoot.map(({ definition }) => definition.method));
  const isServed = (name: string): boolean => registry.findLiteral(name, "/") !== undefined;
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

/** The order in which features are named; any others follow. */
const FEATURES: readonly string[] = [
  ...["endpoint-registry", "composition", "external-service", "lifecycle", "attribution"],
  ...["http-gateway", "synthesis", "rcns"],
];

/** The features of this server in the order of the manifest. */
function supportedFeatures(features: readonly string[]): readonly string[] {
  const known = FEATURES.filter((feature) => features.includes(feature));
  return [...new Set([...known, ...features])];
}

/** The operator's words about a protocol come before the server's. */
function withOperators(
  listed: DiscoverySections["hostedProtocols"],
  own: DiscoverySections["hostedProtocols"],
): DiscoverySections["hostedProtocols"] {
  const names = new Set(listed.map(({ protocol }) => protocol));
  return [...listed, ...own.filter(({ protocol }) => !names.has(protocol))];
}
