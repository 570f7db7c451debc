/**
 * The manifest as bytes. Its `document_version` is derived from its content unless the operator
 * sets one, so it changes exactly when the content does; the dates do not count as content. With
 * very many endpoints it has megabytes: everything is done in steps, the signature elsewhere.
 * AGTP-API §8.2, §8.8, §8.11
 */
import type { KeyObject } from "node:crypto";
import { hashing } from "../../base/octet-pieces.ts";
import type { Drive, Paced } from "../../base/paced.ts";
import { shareHashed } from "../../base/shared-body.ts";
import { layOut } from "./long-list.ts";
import { draftingSigned, draftingUnsigned } from "./signed-layout.ts";

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

/** The parts that a manifest is encoded with. */
export interface ManifestEncoding {
  /** Undefined: a server without a signing key, whose `manifest_signature` is null.   AGTP-API §8.8 */
  readonly key: KeyObject | undefined;
  readonly drive: Drive;
}

const CLOSING = Buffer.from("}");

/** SHA-256 over the canonical form of the content, in hex. */
export function* hashingContent(content: ManifestContent): Paced<string> {
  return yield* hashing([...layOut(content, "canonical"), CLOSING]);
}

/** The `document_version` of content with this hash. */
export function documentVersionOf(hash: string): string {
  return `v-${hash.slice(0, 12)}`;
}

/** Encodes one variant of the manifest. */
export async function encodeManifest(
  content: ManifestContent,
  dates: ManifestDates,
  documentVersion: string,
  { key, drive }: ManifestEncoding,
): Promise<ManifestDocument> {
  const { agtp_version, agtp_api_version, server, ...rest } = content;
  const manifest = {
    agtp_version,
    agtp_api_version,
    document_version: documentVersion,
    ...rest,
    server: { ...server, ...dates },
  };
  const draft = await drive(
    key === undefined ? draftingUnsigned(manifest) : draftingSigned(manifest, key),
  );
  const bytes = await draft.finish();
  const sha256 = await drive(hashing([bytes]));
  shareHashed(bytes, sha256);
  return { bytes, etag: `"${sha256.slice(0, 32)}"`, documentVersion };
}
