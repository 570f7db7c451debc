/**
 * The manifest as bytes. Its `document_version` is derived from its content unless the operator
 * sets one, so it changes exactly when the content does; the dates do not count as content.
 * AGTP-API §8.2, §8.11
 */
import { createHash } from "node:crypto";
import canonicalize from "canonicalize";
import type { JsonRecord } from "../../base/json-value.ts";

/** AGTP-API §8.10 */
export const MANIFEST_TYPE = "application/vnd.agtp.manifest+json";

/** An encoded manifest, ready to be sent. */
export interface ManifestDocument {
  readonly bytes: Uint8Array;
  /** Quoted, as the header carries it. */
  readonly etag: string;
  readonly documentVersion: string;
}

/** The dates that a manifest carries. */
export interface ManifestDates {
  /** RFC 3339. */
  readonly issued: string;
  readonly updated: string;
}

/** A manifest without the members that describe the document itself. */
export interface ManifestContent {
  readonly [member: string]: unknown;
  readonly server: Readonly<Record<string, unknown>>;
}

/** The `manifest_signature`; null from a server without a signing key.   AGTP-API §8.8 */
export type ManifestSigner = (manifest: JsonRecord) => string | null;

/** SHA-256 over the canonical form of the content, in hex. */
export function contentHash(content: ManifestContent): string {
  return createHash("sha256")
    .update(canonicalize(content) ?? "")
    .digest("hex");
}

/** The `document_version` of content with this hash. */
export function documentVersionOf(hash: string): string {
  return `v-${hash.slice(0, 12)}`;
}

/** Encodes one variant of the manifest. */
export function encodeManifest(
  content: ManifestContent,
  dates: ManifestDates,
  documentVersion: string,
  sign: ManifestSigner,
): ManifestDocument {
  const { agtp_version, agtp_api_version, server, ...rest } = content;
  const manifest = {
    agtp_version,
    agtp_api_version,
    document_version: documentVersion,
    ...rest,
    server: { ...server, ...dates },
  };
  const signed = { ...manifest, manifest_signature: sign(manifest) };
  const bytes = Buffer.from(JSON.stringify(signed));
  const etag = `"${createHash("sha256").update(bytes).digest("hex").slice(0, 32)}"`;
  return { bytes, etag, documentVersion };
}
