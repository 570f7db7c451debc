/**
 * The two variants of the published manifest: with the hosted agents, for callers that may list them, and without.
 * Both have the dates of the whole, which are kept across restarts. An agent with persistent contracts gets its
 * variant with these added.
 * AGTP-API §8.3, §8.5, §10.8
 */
import { hash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { Latest } from "../../base/latest.ts";
import type { Paced } from "../../base/paced.ts";
import { FLOOR_GROUPS, FLOOR_METHODS } from "../../catalog/catalog.ts";
import { pairText } from "../../catalog/pair.ts";
import { whileServing } from "../../dispatch/process-state.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { projectEndpoint } from "../../endpoint/project.ts";
import type { AgentDocument, AgentStanding, AgentStatus } from "../../identity/agent-document.ts";
import type { DiscoveryContext, DiscoverySections } from "./config.ts";
import {
  documentVersionOf,
  type EncodedItems,
  encodeManifest,
  encodingItems,
  hashingContent,
  LongList,
  type ManifestContent,
  type ManifestDocument,
  type ManifestEncoding,
} from "./document.ts";
import { type KeptDates, manifestFile } from "./manifest-dates.ts";

/** Both variants, encoded. */
export interface PublishedManifest {
  readonly disclosed: ManifestDocument;
  /** The manifest without the hosted agents. */
  readonly withheld: ManifestDocument;
  /** Builds a variant with an agent's own endpoints, for that agent only. */
  extend(isDisclosed: boolean, own: readonly EndpointDefinition[]): Promise<ManifestDocument>;
  /** Stores the dates for restarts and other processes; rejects if they cannot be stored. */
  keep(): Promise<void>;
}

interface Publishing extends ManifestEncoding {
  /** The endpoints in every manifest of a deployment. */
  readonly endpoints: EncodedItems;
  readonly kept: KeptDates;
}

/** Builds both variants, signed if there is a key. Writes nothing before `keep`. */
async function publishManifest(
  context: DiscoveryContext,
  { endpoints: common, kept: datesKept, key, drive }: Publishing,
): Promise<PublishedManifest> {
  const { config, directory, state } = context;
  const file = manifestFile(config.directory);
  // Changes that no caller sees do not count as content.
  const agents = config.agents.disclosure === "private" ? [] : directory.list();
  const { lifecycle } = state;
  const referring = async (statusOf: AgentStanding["statusOf"]): Promise<EncodedItems> =>
    drive(encodingItems(agents, (agent) => agentReference(agent, statusOf(agent))));
  const contentWith = (
    references: readonly EncodedItems[],
    ...own: readonly EncodedItems[]
  ): ManifestContent =>
    buildManifest(context, {
      endpoints: new LongList(common, ...own),
      agents: new LongList(...references),
    });
  const references = await referring((agent) => lifecycle.statusOf(agent));
  const contentOf = (isDisclosed: boolean, ...own: readonly EncodedItems[]): ManifestContent =>
    contentWith(isDisclosed ? [references] : [], ...own);
  const whole = contentOf(true);
  const hash = await drive(hashingContent(whole));
  // The hash for the stored dates ignores agents' current status, whose time every node knows anyway.
  const moved = agents.flatMap((agent) => lifecycle.statusSince(agent) ?? []);
  const atRest =
    moved.length === 0 ? whole : contentWith([await referring(({ status }) => status)]);
  const hashAtRest = atRest === whole ? hash : await drive(hashingContent(atRest));
  const kept = datesKept.of(hashAtRest, file, new Date());
  const dates = { ...kept, updated: latestOf([kept.updated, ...moved]) };
  const encode = (content: ManifestContent, ownHash: string): Promise<ManifestDocument> => {
    const version = config.server.documentVersion ?? documentVersionOf(ownHash);
    return encodeManifest(content, dates, version, { key, drive });
  };
  const encodeOther = async (content: ManifestContent): Promise<ManifestDocument> =>
    encode(content, await drive(hashingContent(content)));
  const disclosed = await encode(whole, hash);
  const withheld = agents.length === 0 ? disclosed : await encodeOther(contentOf(false));
  const extensions = new ReadyManifests();
  const extend = (
    isDisclosed: boolean,
    own: readonly EndpointDefinition[],
  ): Promise<ManifestDocument> =>
    extensions.get(nameOf(isDisclosed, own), async () => {
      const items = await drive(encodingItems(own, projectEndpoint));
      return encodeOther(contentOf(isDisclosed, items));
    });
  return { disclosed, withheld, extend, keep: () => datesKept.keep(hashAtRest, file, kept) };
}

/** The latest of several times, RFC 3339 in UTC. */
function latestOf(times: readonly string[]): string {
  return times.reduce((latest, time) => (Date.parse(time) > Date.parse(latest) ? time : latest));
}

function nameOf(isDisclosed: boolean, own: readonly EndpointDefinition[]): string {
  return hash("sha256", JSON.stringify([isDisclosed, own]));
}

const MANIFESTS = 16;
const OCTETS = 64 * 1024 * 1024;

/**
 * The recently used manifests by name, cached because encoding and signing a large one takes long. One that exceeds
 * the whole cache is built for each request.
 */
export class ReadyManifests {
  readonly #ready: LRUCache<string, Promise<ManifestDocument>>;

  constructor(octets: number = OCTETS) {
    this.#ready = new LRUCache({ max: MANIFESTS, maxSize: octets });
  }

  /** Returns the manifest of a name; concurrent requests share one build. */
  get(name: string, make: () => Promise<ManifestDocument>): Promise<ManifestDocument> {
    const known = this.#ready.get(name);
    if (known !== undefined) return known;
    const made = make();
    this.#ready.set(name, made, { size: 1 });
    made.then(
      ({ bytes }) => {
        // Setting a value again under its key would keep its old size.
        this.#ready.delete(name);
        this.#ready.set(name, made, { size: bytes.length });
      },
      // A failed build is not cached.
      () => this.#ready.delete(name),
    );
    return made;
  }
}

/**
 * The current manifest, rebuilt when an agent's status changes, a port becomes known, or another process stored its
 * dates first. The endpoints are encoded only once.
 */
export class CurrentManifest {
  readonly #context: DiscoveryContext;
  readonly #kept: KeptDates;
  readonly #latest: Latest<PublishedManifest>;
  #listed: EncodedItems | undefined;
  #pairs: ReadonlySet<string> | undefined;

  constructor(context: DiscoveryContext, kept: KeptDates) {
    this.#context = context;
    this.#kept = kept;
    this.#latest = new Latest(
      () => this.#publish(),
      () => [context.state.lifecycle.revision, context.deployment().apis(), kept.revision],
    );
  }

  /** Tells whether the manifest lists a pair. */
  isListed(method: string, path: string): boolean {
    const { listed } = this.#context.deployment();
    this.#pairs ??= new Set(listed.map(({ definition }) => pairText(definition)));
    return this.#pairs.has(pairText({ method, path }));
  }

  /** Returns the manifest, synchronously if nothing has changed. */
  get(): PublishedManifest | Promise<PublishedManifest> {
    return this.#latest.get();
  }

  async #publish(): Promise<PublishedManifest> {
    const { signingKey: key } = this.#context;
    const drive = whileServing(this.#context);
    this.#listed ??= await drive(this.#encoding());
    const endpoints = this.#listed;
    return publishManifest(this.#context, { endpoints, kept: this.#kept, key, drive });
  }

  #encoding(): Paced<EncodedItems> {
    const { listed } = this.#context.deployment();
    return encodingItems(listed, ({ definition }) => projectEndpoint(definition));
  }
}

/** The members that may be very long. */
interface ManifestLists {
  readonly endpoints: LongList;
  readonly agents: LongList;
}

/** Builds the fields of §8.2, without the document's own version, dates and signature. */
function buildManifest(context: DiscoveryContext, lists: ManifestLists): ManifestContent {
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

/** Lists the embedded methods; `binding` marks one that the operator's own endpoint answers on "/". */
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

/** The entry of an agent, with its current status. */
function agentReference(agent: AgentDocument, status: AgentStatus): Record<string, unknown> {
  return {
    agent_id: agent.agentId,
    name: agent.name,
    description: agent.description,
    status,
    trust_tier: agent.trustTier,
    verification_path: agent.verificationPath,
  };
}

/** The order of known features; others follow. */
const FEATURES: readonly string[] = [
  ...["endpoint-registry", "composition", "external-service", "lifecycle", "attribution"],
  ...["http-gateway", "synthesis", "rcns"],
];

/** This server's features, in the order of the manifest. */
function supportedFeatures(features: readonly string[]): readonly string[] {
  const known = FEATURES.filter((feature) => features.includes(feature));
  return [...new Set([...known, ...features])];
}

/** The operator's entry for a protocol takes precedence over the server's. */
function withOperators(
  listed: DiscoverySections["hostedProtocols"],
  own: DiscoverySections["hostedProtocols"],
): DiscoverySections["hostedProtocols"] {
  const names = new Set(listed.map(({ protocol }) => protocol));
  return [...listed, ...own.filter(({ protocol }) => !names.has(protocol))];
}
