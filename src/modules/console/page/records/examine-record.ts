/** Decodes a record, computes its hash and verifies its signature.   docs/attribution.md */

/** A pinned key, imported for verification. */
export interface ImportedKey {
  readonly kid: string;
  readonly key: CryptoKey;
}

/** Names of Ed25519 in a JWS header. */
export const ALGORITHMS: readonly unknown[] = ["EdDSA", "Ed25519"];

/** A decoded record with the results of the slow checks. */
export interface Examined {
  readonly hash: string;
  readonly record: DecodedRecord | undefined;
  /** True if one of the pinned keys signed it. */
  readonly isSigned: boolean;
}

/** Examines a record with the pinned keys. */
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

/** Returns the keys that may have signed a record. */
export function candidatesFor(
  { header }: DecodedRecord,
  keys: readonly ImportedKey[],
): readonly ImportedKey[] {
  if (!ALGORITHMS.includes(header["alg"])) return [];
  return keys.filter(({ kid }) => header["kid"] === undefined || header["kid"] === kid);
}

/** Verifies the signature, which covers the record up to its last dot. */
function isSigned(
  { signature, inputLength }: DecodedRecord,
  octets: Uint8Array<ArrayBuffer>,
  key: CryptoKey,
): Promise<boolean> {
  return crypto.subtle.verify("Ed25519", key, signature, octets.subarray(0, inputLength));
}

/** Imports a pinned key. */
export async function importKey({
  kid,
  x,
}: {
  readonly kid: string;
  readonly x: string;
}): Promise<ImportedKey> {
  const octets = fromBase64url(x) ?? new Uint8Array();
  return { kid, key: await crypto.subtle.importKey("raw", octets, "Ed25519", false, ["verify"]) };
}

type Members = Readonly<Record<string, unknown>>;

/** A decoded record, not yet verified. */
export interface DecodedRecord {
  readonly header: Members;
  readonly payload: Members;
  /** Length in octets of the signed part, from the start. */
  readonly inputLength: number;
  readonly signature: Uint8Array<ArrayBuffer>;
}

const DECODER = new TextDecoder("utf-8", { fatal: true });
const COMPACT = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]*)$/;

/** Decodes a record; undefined if it is malformed. */
function decodeRecord(jws: string): DecodedRecord | undefined {
  const [, head = "", body = "", end = ""] = COMPACT.exec(jws) ?? [];
  const header = decodeObject(head);
  const payload = decodeObject(body);
  const signature = fromBase64url(end);
  if (header === undefined || payload === undefined || signature === undefined) return undefined;
  return { header, payload, inputLength: head.length + 1 + body.length, signature };
}

/** Returns the claims of a record without verifying its signature; undefined if it is malformed. */
export function payloadOf(jws: string): Members | undefined {
  const [, , body = ""] = COMPACT.exec(jws) ?? [];
  return decodeObject(body);
}

function decodeObject(text: string): Members | undefined {
  const octets = fromBase64url(text);
  if (octets === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(DECODER.decode(octets));
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Members) : undefined;
  } catch {
    return undefined;
  }
}

const BASE64URL = /^[A-Za-z0-9_-]*$/;
const ENCODER = new TextEncoder();
const HEX = Array.from({ length: 256 }, (_, octet) => octet.toString(16).padStart(2, "0"));

/** Decodes base64url; undefined if the text is malformed. */
export function fromBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!BASE64URL.test(text)) return undefined;
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const octets = new Uint8Array(binary.length);
    for (let at = 0; at < octets.length; at += 1) octets[at] = binary.charCodeAt(at);
    return octets;
  } catch {
    return undefined;
  }
}

/** SHA-256 as lower-case hex. */
export async function sha256(octets: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", octets));
  let hex = "";
  for (const octet of digest) hex += HEX[octet];
  return hex;
}

function utf8(text: string): Uint8Array<ArrayBuffer> {
  return ENCODER.encode(text) as Uint8Array<ArrayBuffer>;
}
