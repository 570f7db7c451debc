/**
 * The two variants of the manifest that a server publishes: with its hosted agents, for those who may
 * learn of them, and without. Both carry the dates of the whole. An agent that negotiated endpoints
 * to stay gets its variant with these in it.   AGTP-API §8.3, §8.5, §10.8
 */
import { createHash } from "node:crypto";
import { join } from "node:path";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { projectEndpoint } from "../../endpoint/project.ts";
import { agentReference, buildManifest, type ManifestSource } from "./build.ts";
import { keepDates, resolveDates } from "./dates.ts";
import {
  documentVersionOf,
  encodeManifest,
  hashingContent,
  type ManifestContent,
  type ManifestDocument,
  type ManifestEncoding,
} from "./document.ts";
import { type EncodedItems, encodingItems, LongList } from "./long-list.ts";
import { ReadyManifests } from "./ready-manifests.ts";

/** Both variants, encoded. */
export interface PublishedManifest {
  readonly disclosed: ManifestDocument;
  /** Without the hosted agents. */
  readonly withheld: ManifestDocument;
  /** One of the two with an agent's own endpoints, which belong to nobody else's. */
  extend(isDisclosed: boolean, own: readonly EndpointDefinition[]): Promise<ManifestDocument>;
  /** Keeps the dates across restarts; throws when the state directory cannot be written. */
  keep(): void;
}

/** Options of publishing. */
export interface Publishing extends ManifestEncoding {
  /** `source.endpoints`, which every manifest of a deployment has. */
  readonly endpoints: EncodedItems;
}

/** The store of the dates. */
export function manifestFile(directory: string): string {
  return join(directory, ".agtp", "manifest.json");
}

/** Builds both variants, signed where there is a key. Writes nothing before `keep`. */
export async function publishManifest(
  source: ManifestSource,
  { endpoints: common, key, drive }: Publishing,
): Promise<PublishedManifest> {
  const { config } = source;
  const file = manifestFile(config.directory);
  // A change that nobody is shown does not count as content.
  const agents = config.agents.disclosure === "private" ? [] : source.agents;
  const references = await drive(
    encodingItems(agents, (agent) => agentReference(agent, source.statusOf(agent))),
  );
  const contentOf = (isDisclosed: boolean, ...own: readonly EncodedItems[]): ManifestContent =>
    buildManifest(source, {
      endpoints: new LongList(common, ...own),
      agents: isDisclosed ? new LongList(references) : new LongList(),
    });
  const whole = contentOf(true);
  const hash = await drive(hashingContent(whole));
  const dates = resolveDates(file, hash, new Date());
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
  return { disclosed, withheld, extend, keep: () => keepDates(file, hash, dates) };
}

function nameOf(isDisclosed: boolean, own: readonly EndpointDefinition[]): string {
  return createHash("sha256")
    .update(JSON.stringify([isDisclosed, own]))
    .digest("hex");
}
