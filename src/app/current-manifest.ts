/**
 * The manifest as it is now: made anew when an agent has come to another status, or a port is known.
 * Its endpoints are encoded once, when the deployment is loaded.   AGTP-API §8
 */
import type { Config } from "../base/config.ts";
import { Latest } from "../base/latest.ts";
import type { Paced } from "../base/paced.ts";
import type { EndpointDefinition } from "../endpoint/endpoint.ts";
import { projectEndpoint } from "../endpoint/project.ts";
import type { AgentDocument } from "../identity/agent-document.ts";
import type { ManifestSource } from "../modules/discovery/build.ts";
import { type EncodedItems, encodingItems, NO_ITEMS } from "../modules/discovery/long-list.ts";
import { type PublishedManifest, publishManifest } from "../modules/discovery/publish.ts";
import type { ProtocolParts } from "./protocol-parts.ts";
import { whileServing } from "./while-serving.ts";

/** Keeps the one that was made last. */
export class CurrentManifest {
  readonly #parts: ProtocolParts;
  readonly #endpoints: () => readonly EndpointDefinition[];
  readonly #latest: Latest<PublishedManifest>;
  #listed: EncodedItems = NO_ITEMS;

  constructor(parts: ProtocolParts, endpoints: () => readonly EndpointDefinition[]) {
    this.#parts = parts;
    this.#endpoints = endpoints;
    const { state, apis } = parts;
    this.#latest = new Latest(
      () => this.#publish(),
      () => [state.lifecycle.revision, apis.entries],
    );
  }

  /** Encodes the endpoints, which are all known by now, and notes their pairs. */
  *listing(pairs: Set<string>): Paced<void> {
    this.#listed = yield* encodingItems(this.#endpoints(), (definition) => {
      pairs.add(`${definition.method} ${definition.path}`);
      return projectEndpoint(definition);
    });
  }

  /** At once where nothing has changed. */
  get(): PublishedManifest | Promise<PublishedManifest> {
    return this.#latest.get();
  }

  #publish(): Promise<PublishedManifest> {
    const { signingKey: key } = this.#parts;
    const drive = whileServing(this.#parts);
    return publishManifest(this.#source(), { endpoints: this.#listed, key, drive });
  }

  #source(): ManifestSource {
    const { config, catalog, directory, methodPolicy, apis, state } = this.#parts;
    return {
      config,
      catalog,
      agents: directory.list(),
      statusOf: (agent: AgentDocument) => state.lifecycle.statusOf(agent),
      endpoints: this.#endpoints(),
      apis: apis.entries,
      methodPolicy: methodPolicy.projection,
      supportedFeatures: supportedFeatures(config),
      hostedProtocols: hostedProtocols(this.#parts),
    };
  }
}

/** What the manifest says that this server can do. */
function supportedFeatures({ policies, attribution, gateway }: Config): readonly string[] {
  return [
    ...["endpoint-registry", "composition", "external-service", "lifecycle"],
    ...(attribution.enabled ? ["attribution"] : []),
    ...(gateway.enabled ? ["http-gateway"] : []),
    ...(policies.synthesisEnabled ? ["synthesis"] : []),
    ...(policies.synthesisEnabled && policies.rcns.enabled ? ["rcns"] : []),
  ];
}

/** What the operator says of a protocol comes before what the server would. */
function hostedProtocols({ config, openwop }: ProtocolParts): Config["hostedProtocols"] {
  const listed = config.hostedProtocols;
  const isThere = listed.some(({ protocol }) => protocol === "openwop");
  if (isThere || openwop.registry.all.length === 0) return listed;
  return [...listed, { protocol: "openwop", method: "EXECUTE", path: "/agents/{agent_id}" }];
}
