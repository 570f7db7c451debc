/** Checks a server manifest against every rule of the draft, in the draft's order.   AGTP-API §8 */
import type { DocumentPlace } from "../../base/document-place.ts";
import { isRecord, type JsonRecord, quoteValue, recordIn } from "../../base/json-value.ts";
import { readTimestamp } from "../../base/timestamp.ts";
import type { Catalog } from "../../catalog/catalog.ts";
import { canonicalForm } from "../../identity/canonical-form.ts";
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";
import { type ManifestVerdict, verifyManifestByAny } from "../../identity/manifest-signature.ts";
import { checkEndpoints } from "./check-endpoints.ts";
import { checkMethods, checkServer, checkVersions } from "./check-server.ts";
import { checkAgents, checkPolicies, checkSurface } from "./check-surface.ts";
import { createVocabulary, manifestPlace, type ReportFinding, warnOfOthers } from "./findings.ts";

export interface ManifestContext {
  /** Milliseconds since the epoch. */
  readonly now: number;
  /** The keys of the expected signers; empty if none are expected. */
  readonly keys: readonly Ed25519PublicKey[];
  /** True if it was served to a caller without an identity. */
  readonly isAnonymous: boolean;
  readonly earlier?: JsonRecord | undefined;
  /** The catalog of a version; undefined if it is not available. */
  catalogOf(version: string): Catalog | undefined;
}

/** The findings, with facts about the manifest. */
export interface ManifestCheck {
  readonly signature: ManifestVerdict;
  /** The version of the catalog that method names were checked against. */
  readonly catalog: string | undefined;
}

const KNOWN = [
  ...["agtp_version", "agtp_api_version", "document_version", "catalog_version"],
  ...["catalog_versions_supported", "server", "embedded_methods", "custom_methods", "endpoints"],
  ...["agent_disclosure", "hosted_agents", "agent_disclosure_notice", "apis", "hosted_protocols"],
  ...["policies", "manifest_signature"],
];

/** Checks a value that is expected to be a manifest. */
export function checkManifest(
  value: unknown,
  context: ManifestContext,
  report: ReportFinding,
): ManifestCheck {
  const manifest = manifestPlace(value, report);
  if (!isRecord(value)) {
    manifest.fail(`is ${quoteValue(value)}, expected an object`);
    return { signature: { kind: "unsigned" }, catalog: undefined };
  }
  warnOfOthers(manifest, KNOWN);
  const catalog = findCatalog(checkVersions(manifest), manifest, context);
  checkServer(manifest.at("server").under("8.3"), context.now);
  const vocabulary = createVocabulary(catalog, checkMethods(manifest, catalog));
  const pairs = checkEndpoints(manifest.at("endpoints").under("8.9"), vocabulary);
  checkAgents(manifest, context.isAnonymous);
  checkSurface(manifest, vocabulary, pairs);
  checkPolicies(manifest.at("policies").under("8.7"), vocabulary);
  if (context.earlier !== undefined) checkRevision(manifest, value, context.earlier);
  const signature = checkSignature(manifest, value, context.keys);
  return { signature, catalog: catalog?.version };
}

function findCatalog(
  version: string | undefined,
  manifest: DocumentPlace,
  { catalogOf }: ManifestContext,
): Catalog | undefined {
  if (version === undefined) return undefined;
  const catalog = catalogOf(version);
  const place = manifest.at("catalog_version").under("6.4");
  if (catalog === undefined) {
    place.warn(`the catalog ${version} is not at hand, so no method was looked up in it`);
  } else if (catalog.version !== version) {
    place.warn(`methods were looked up in the catalog ${catalog.version}`);
  }
  return catalog;
}

/**
 * Compares a manifest with an earlier revision: what must stay, and what must change with the
 * content.   AGTP-API §8.2, §8.3, §8.11
 */
function checkRevision(manifest: DocumentPlace, value: JsonRecord, earlier: JsonRecord): void {
  const [now, before] = [serverOf(value), serverOf(earlier)];
  const server = manifest.at("server").under("8.3");
  for (const name of ["server_id", "issued"]) {
    if (now[name] === before[name]) continue;
    const message = `was ${quoteValue(before[name])}, expected it to stay through revisions`;
    server.at(name).fail(message);
  }
  const version = manifest.at("document_version").under("8.2");
  const isSameVersion = value["document_version"] === earlier["document_version"];
  const isSameContent = contentOf(value).equals(contentOf(earlier));
  if (isSameVersion && !isSameContent) version.fail("is unchanged, although the content is not");
  if (!isSameVersion && isSameContent) version.warn("changed, although the content did not");
  const timeIn = ({ updated: time }: JsonRecord): number =>
    readTimestamp(String(time)) ?? Number.NaN;
  const [updated, was] = [timeIn(now), timeIn(before)];
  if (updated < was)
    server.at("updated").fail(`is before the earlier ${quoteValue(before["updated"])}`);
  else if (!isSameContent && updated === was) {
    server.at("updated").fail("is unchanged, although the content is not");
  }
}

function serverOf(manifest: JsonRecord): JsonRecord {
  return recordIn(manifest["server"]);
}

/** The canonical content without the members that describe the document itself; empty if it has no canonical form. */
function contentOf(manifest: JsonRecord): Buffer {
  const { updated: _updated, ...server } = serverOf(manifest);
  try {
    return canonicalForm({ ...manifest, server }, ["document_version", "manifest_signature"]);
  } catch {
    return Buffer.alloc(0);
  }
}

/**
 * Checks the signature with the first of the given keys that made it, or with its own key. A
 * missing one, or one by an unknown author, is no fault; an invalid one is.   AGTP-API §8.8
 */
function checkSignature(
  manifest: DocumentPlace,
  value: JsonRecord,
  keys: readonly Ed25519PublicKey[],
): ManifestVerdict {
  const verdict = verifyManifestByAny(value, keys);
  const place = manifest.at("manifest_signature").under("8.8");
  switch (verdict.kind) {
    case "unsigned":
      // A missing signature is only a fault if a signer's key is given.
      if (keys.length === 0) place.warn("there is none, so nobody vouches for the manifest");
      else place.fail("there is none, expected one by the key that was named");
      break;
    case "invalid":
      place.fail(verdict.fault);
      break;
    case "verified":
    case "intact":
      break;
  }
  return verdict;
}

/** Describes a verdict in a sentence. */
export function describeVerdict(verdict: ManifestVerdict): string {
  switch (verdict.kind) {
    case "verified":
      return `verified, by ${verdict.kid}`;
    case "intact":
      return `intact, by ${verdict.kid}, a key that it brings itself: no --key says whose it is`;
    case "unsigned":
      return "there is none";
    case "invalid":
      return verdict.fault;
  }
}
