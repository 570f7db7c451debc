/** Finds out about a record what takes the browser long: its hash, and who signed it. */
import { fromBase64url, sha256, utf8 } from "./bytes.ts";
import { type DecodedRecord, decodeRecord } from "./decode-record.ts";
import type { PinnedKey } from "./pins.ts";

/** A pinned key, ready to verify with. */
export interface ImportedKey {
  readonly kid: string;
  readonly key: CryptoKey;
}

/** The names that Ed25519 has in a header. */
export const ALGORITHMS: readonly unknown[] = ["EdDSA", "Ed25519"];

/** A record with what takes long to find out about it. */
export interface Examined {
  readonly hash: string;
  readonly record: DecodedRecord | undefined;
  /** Signed with one of the pinned keys. */
  readonly isSigned: boolean;
}

/** Examines a record under the pinned keys. */
export async function examine(keys: readonly ImportedKey[], jws: string): Promise<Examined> {
  const octets = utf8(jws);
  const hash = sha256(octets);
  const record = decodeRecord(jws);
  const candidates = record === undefined ? [] : candidatesFor(record, keys);
  let found = false;
  for (const { key } of candidates) {
    found = record !== undefined && (await isSigned(record, octets, key));
    if (found) break;
  }
  return { hash: await hash, record, isSigned: found };
}

/** The keys that a record may be signed with. */
export function candidatesFor(
  { header }: DecodedRecord,
  keys: readonly ImportedKey[],
): readonly ImportedKey[] {
  if (!ALGORITHMS.includes(header["alg"])) return [];
  return keys.filter(({ kid }) => header["kid"] === undefined || header["kid"] === kid);
}

/** What is signed is the beginning of the record. */
function isSigned(
  { signature, inputLength }: DecodedRecord,
  octets: Uint8Array<ArrayBuffer>,
  key: CryptoKey,
): Promise<boolean> {
  return crypto.subtle.verify("Ed25519", key, signature, octets.subarray(0, inputLength));
}

/** Makes a pinned key ready. */
export async function importKey({ kid, x }: PinnedKey): Promise<ImportedKey> {
  const octets = fromBase64url(x) ?? new Uint8Array();
  return { kid, key: await crypto.subtle.importKey("raw", octets, "Ed25519", false, ["verify"]) };
}
