/**
 * The two variants of the manifest that a server publishes: with its hosted agents, for those who may
 * learn of them, and without. Both carry the dates of the whole. An agent that negotiated endpoints
 * to stay gets its variant with these in it.   AGTP-API §8.3, §8.5, §10.8
 */
import { createHash, type KeyObject } from "node:crypto";
import { join } from "node:path";
import { LRUCache } from "lru-cache";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { signManifest } from "../../identity/manifest-signature.ts";
import { buildManifest, type ManifestSource } from "./build.ts";
import { keepDates, resolveDates } from "./dates.ts";
import {
  contentHash,
  documentVersionOf,
  encodeManifest,
  type ManifestContent,
  type ManifestDocument,
  type ManifestSigner,
} from "./document.ts";

/** Both variants, encoded. */
export interface PublishedManifest {
  readonly disclosed: ManifestDocument;
  /** Without the hosted agents. */
  readonly withheld: ManifestDocument;
  /** One of the two with an agent's own endpoints, which belong to nobody else's. */
  extend(isDisclosed: boolean, own: readonly EndpointDefinition[]): ManifestDocument;
  /** Keeps the dates across restarts; throws when the state directory cannot be written. */
  keep(): void;
}

/** Extended ones that are kept ready: encoding and signing one takes long where there is much in it. */
const READY = 16;

/** Where the dates are kept. */
export function manifestFile(directory: string): string {
  return join(directory, ".agtp", "manifest.json");
}

/** Builds both variants, signed where there is a key. Writes nothing before `keep`. */
export function publishManifest(source: ManifestSource, key?: KeyObject): PublishedManifest {
  const { config } = source;
  const file = manifestFile(config.directory);
  // What nobody is shown does not count as content.
  const agents = config.agents.disclosure === "private" ? [] : source.agents;
  const whole = buildManifest({ ...source, agents });
  const hash = contentHash(whole);
  const dates = resolveDates(file, hash, new Date());
  const sign: ManifestSigner = (manifest) =>
    key === undefined ? null : signManifest(manifest, key);
  const encode = (content: ManifestContent, ownHash: string): ManifestDocument => {
    const version = config.server.documentVersion ?? documentVersionOf(ownHash);
    return encodeManifest(content, dates, version, sign);
  };
  const disclosed = encode(whole, hash);
  const bare = agents.length === 0 ? undefined : buildManifest({ ...source, agents: [] });
  const withheld = bare === undefined ? disclosed : encode(bare, contentHash(bare));
  const extensions = new LRUCache<string, ManifestDocument>({ max: READY });
  const extend = (isDisclosed: boolean, own: readonly EndpointDefinition[]): ManifestDocument => {
    const name = createHash("sha256")
      .update(JSON.stringify([isDisclosed, own]))
      .digest("hex");
    const known = extensions.get(name);
    if (known !== undefined) return known;
    const endpoints = [...source.endpoints, ...own];
    const content = buildManifest({ ...source, endpoints, agents: isDisclosed ? agents : [] });
    const document = encode(content, contentHash(content));
    extensions.set(name, document);
    return document;
  };
  return { disclosed, withheld, extend, keep: () => keepDates(file, hash, dates) };
}
