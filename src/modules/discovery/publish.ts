/**
 * The two variants of the manifest that a server publishes: with its hosted agents, for those who
 * may learn of them, and without. Both carry the dates of the whole, which are kept across
 * restarts. An agent that negotiated endpoints to stay gets its variant with these in it.
 * AGTP-API §8.3, §8.5, §10.8
 */
import { createHash } from "node:crypto";
import { accessSync, constants, renameSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { LRUCache } from "lru-cache";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { isRecord, parseJson } from "../../base/json-value.ts";
import { Latest } from "../../base/latest.ts";
import type { Paced } from "../../base/paced.ts";
import { makeDirectory } from "../../base/paths.ts";
import type { Pair } from "../../catalog/pair.ts";
import { whileServing } from "../../dispatch/process-state.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { projectEndpoint } from "../../endpoint/project.ts";
import { agentReference, buildManifest } from "./build.ts";
import type { DiscoveryContext } from "./config.ts";
import {
  documentVersionOf,
  type EncodedItems,
  encodeManifest,
  encodingItems,
  hashingContent,
  LongList,
  type ManifestContent,
  type ManifestDates,
  type ManifestDocument,
  type ManifestEncoding,
} from "./document.ts";

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

interface Publishing extends ManifestEncoding {
  /** Those that every manifest of a deployment has. */
  readonly endpoints: EncodedItems;
}

/** The store of the dates. */
export function manifestFile(directory: string): string {
  return join(directory, ".agtp", "manifest.json");
}

/** Builds both variants, signed where there is a key. Writes nothing before `keep`. */
async function publishManifest(
  context: DiscoveryContext,
  { endpoints: common, key, drive }: Publishing,
): Promise<PublishedManifest> {
  const { config, directory, state } = context;
  const file = manifestFile(config.directory);
  // A change that nobody is shown does not count as content.
  const agents = config.agents.disclosure === "private" ? [] : directory.list();
  const references = await drive(
    encodingItems(agents, (agent) => agentReference(agent, state.lifecycle.statusOf(agent))),
  );
  const contentOf = (isDisclosed: boolean, ...own: readonly EncodedItems[]): ManifestContent =>
    buildManifest(context, {
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

interface KeptDates extends ManifestDates {
  readonly content_hash: string;
}

const MAX_BYTES = 65_536;

/** The dates that belong to this content: `updated` moves exactly when it does. */
function resolveDates(file: string, contentHash: string, now: Date): ManifestDates {
  const kept = readKept(file);
  if (kept?.content_hash === contentHash) return { issued: kept.issued, updated: kept.updated };
  const updated = now.toISOString();
  return { issued: kept?.issued ?? updated, updated };
}

/** Keeps the dates; throws when the state directory cannot be written. */
function keepDates(file: string, contentHash: string, dates: ManifestDates): void {
  const kept: KeptDates = { ...dates, content_hash: contentHash };
  if (readKept(file)?.content_hash === contentHash) return;
  makeDirectory(dirname(file), 0o700);
  const temporary = `${file}.${process.pid}`;
  writeFileSync(temporary, `${JSON.stringify(kept)}\n`, { mode: 0o600 });
  renameSync(temporary, file);
}

/**
 * Throws when the dates could not be kept there: what is there is no file, or its directory cannot be
 * written. A directory that is not there is made with them.
 */
export function checkKeepable(file: string): void {
  const directory = dirname(file);
  const [one, place] = [file, directory].map((path) => statSync(path, { throwIfNoEntry: false }));
  if (one?.isFile() === false) throw new Error(`${file} is not a file`);
  if (place?.isDirectory() === false) throw new Error(`${directory} is not a directory`);
  if (place !== undefined) accessSync(directory, constants.W_OK);
}

/** Undefined when nothing was kept, or nothing readable: the manifest is then issued now. */
function readKept(file: string): KeptDates | undefined {
  const kept = parseJson(readBoundedFile(file, MAX_BYTES).text ?? "");
  return isKept(kept) ? kept : undefined;
}

function isKept(value: unknown): value is KeptDates {
  if (!isRecord(value)) return false;
  const { issued, updated, content_hash: hash } = value;
  return [issued, updated, hash].every((member) => typeof member === "string");
}

const MANIFESTS = 16;
const OCTETS = 64 * 1024 * 1024;

/**
 * Manifests kept ready by name, those that were asked for last: encoding and signing one takes long
 * where there is much in it. One that is longer than all may be is made for each who asks.
 */
export class ReadyManifests {
  readonly #ready: LRUCache<string, Promise<ManifestDocument>>;

  constructor(octets: number = OCTETS) {
    this.#ready = new LRUCache({ max: MANIFESTS, maxSize: octets });
  }

  /** Those who ask for the same while it is made wait for the same. */
  get(name: string, make: () => Promise<ManifestDocument>): Promise<ManifestDocument> {
    const known = this.#ready.get(name);
    if (known !== undefined) return known;
    const made = make();
    this.#ready.set(name, made, { size: 1 });
    made.then(
      ({ bytes }) => {
        // A value that is set again under its key would keep its old size.
        this.#ready.delete(name);
        this.#ready.set(name, made, { size: bytes.length });
      },
      // A manifest that could not be made is tried again.
      () => this.#ready.delete(name),
    );
    return made;
  }
}

/**
 * The manifest as it is now: made anew when an agent has come to another status, or a port is known.
 * Its endpoints are encoded once, for the first.
 */
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
    return publishManifest(this.#context, { endpoints: this.#listed, key, drive });
  }

  #encoding(): Paced<EncodedItems> {
    const { listed } = this.#context.deployment();
    return encodingItems(listed, ({ definition }) => projectEndpoint(definition));
  }
}

function pairOf({ method, path }: Pair): string {
  return `${method} ${path}`;
}
