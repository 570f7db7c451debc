/**
 * The manifest as it is now: made anew when an agent has come to another status, or a port is known.
 * Its endpoints are encoded once, for the first.   AGTP-API §8
 */
import { Latest } from "../../base/latest.ts";
import type { Paced } from "../../base/paced.ts";
import { whileServing } from "../../dispatch/module/while-serving.ts";
import { projectEndpoint } from "../../endpoint/project.ts";
import type { AgentDocument } from "../../identity/agent-document.ts";
import type { ManifestSource } from "./build.ts";
import type { DiscoveryContext, DiscoverySections } from "./config.ts";
import { type EncodedItems, encodingItems } from "./document.ts";
import { type PublishedManifest, publishManifest } from "./publish.ts";

/** Keeps the one that was made last. */
export class CurrentManifest {
  readonly #context: DiscoveryContext;
  readonly #latest: Latest<PublishedManifest>;
  #listed: EncodedItems | undefined;
  #pairs: ReadonlySet<string> | undefined;

  constructor(context: DiscoveryContext) {
    this.#context = context;
    this.#latest = new Latest(
      () => this.#publish(),
      () => [context.state.lifecycle.revision, context.deployment().apis()],
    );
  }

  /** Tells whether it lists such a pair. */
  isListed(method: string, path: string): boolean {
    const { listed } = this.#context.deployment();
    this.#pairs ??= new Set(listed.map(({ definition }) => pairOf(definition)));
    return this.#pairs.has(pairOf({ method, path }));
  }

  /** At once where nothing has changed. */
  get(): PublishedManifest | Promise<PublishedManifest> {
    return this.#latest.get();
  }

  async #publish(): Promise<PublishedManifest> {
    const { signingKey: key } = this.#context;
    const drive = whileServing(this.#context);
    this.#listed ??= await drive(this.#encoding());
    return publishManifest(this.#source(), { endpoints: this.#listed, key, drive });
  }

  #encoding(): Paced<EncodedItems> {
    const { listed } = this.#context.deployment();
    return encodingItems(listed, ({ definition }) => projectEndpoint(definition));
  }

  #source(): ManifestSource {
    const { config, catalog, directory, methodPolicy, state } = this.#context;
    const { registry, listed, features, hostedProtocols, apis } = this.#context.deployment();
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

function pairOf({ method, path }: { readonly method: string; readonly path: string }): string {
  return `${method} ${path}`;
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
