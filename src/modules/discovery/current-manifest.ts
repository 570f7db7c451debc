/**
 * The manifest as it is now: made anew when an agent has come to another status, or a port is known.
 * Its endpoints are encoded once, when the deployment is loaded.   AGTP-API §8
 */
import { Latest } from "../../base/latest.ts";
import type { Paced } from "../../base/paced.ts";
import { whileServing } from "../../dispatch/module/while-serving.ts";
import { projectEndpoint } from "../../endpoint/project.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { ManifestSource } from "./build.ts";
import type { DiscoveryContext, DiscoverySections } from "./config.ts";
import { type EncodedItems, encodingItems, NO_ITEMS } from "./long-list.ts";
import { type PublishedManifest, publishManifest } from "./publish.ts";

/** Keeps the one that was made last. */
export class CurrentManifest {
  readonly #context: DiscoveryContext;
  readonly #latest: Latest<PublishedManifest>;
  #listed: EncodedItems = NO_ITEMS;
  #pairs: ReadonlySet<string> = new Set();

  constructor(context: DiscoveryContext) {
    this.#context = context;
    this.#latest = new Latest(
      () => this.#publish(),
      () => [context.state.lifecycle.revision, context.dispatch().apis()],
    );
  }

  /** Encodes the endpoints, which are all known by now, and notes their pairs. */
  *listing(): Paced<void> {
    const pairs = new Set<string>();
    this.#listed = yield* encodingItems(this.#context.dispatch().listed, ({ definition }) => {
      pairs.add(`${definition.method} ${definition.path}`);
      return projectEndpoint(definition);
    });
    this.#pairs = pairs;
  }

  /** Tells whether it lists such a pair. */
  isListed(method: string, path: string): boolean {
    return this.#pairs.has(`${method} ${path}`);
  }

  /** At once where nothing has changed. */
  get(): PublishedManifest | Promise<PublishedManifest> {
    return this.#latest.get();
  }

  #publish(): Promise<PublishedManifest> {
    const { signingKey: key } = this.#context;
    const drive = whileServing(this.#context);
    return publishManifest(this.#source(), { endpoints: this.#listed, key, drive });
  }

  #source(): ManifestSource {
    const { config, catalog, directory, methodPolicy, state } = this.#context;
    const { registry, listed, features, hostedProtocols, apis } = this.#context.dispatch();
    return {
      ...{ config, catalog },
      agents: directory.list(),
      statusOf: (agent: AgentDocument) => state.lifecycle.statusOf(agent),
      endpoints: listed.map(({ definition }) => definition),
      isServed: (method) => registry.findLiteral(method, "/") !== undefined,
      isSynthesizing: features.includes("synthesis"),
      apis: apis(),
      methodPolicy: methodPolicy.projection,
      supportedFeatures: supportedFeatures(features),
      hostedProtocols: withOperators(config.hostedProtocols, hostedProtocols),
    };
  }
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
