/**
 * Seals drafts in order: each names its predecessor in its chain, is signed, and gets its Audit-ID. A signature is a
 * JWS in compact serialization with Ed25519, or `alg: none` without a configured key. AGTP-IDENTIFIERS
 * "Attribution-Record", "Attribution Chain"; RFC 7515 §7.1, RFC 8037
 */

import { hash, type KeyObject, sign } from "node:crypto";
import { createRequire } from "node:module";
import { type Ed25519PublicKey, publicKeyOf } from "../../identity/ed25519.ts";
import { keyId } from "../../identity/jws.ts";
import type { JournalRecord } from "../journal/journal.ts";
import { NO_AUDIT_ID, type Sealer, type SealingJob } from "./record.ts";

/** Creates a sealer that works synchronously. */
export function createSealer(signer: RecordSigner): Sealer {
  return { seal: (job) => sealAll(job, signer), close: () => Promise.resolve() };
}

/** Seals a job; `onSealed` is called with each record as soon as it is sealed. */
export function sealAll(
  { payloads, chains, previous }: SealingJob,
  signer: Pick<RecordSigner, "sign">,
  onSealed?: (record: JournalRecord) => void,
): readonly JournalRecord[] {
  const heads = [...previous];
  return payloads.map(({ before, after }, index) => {
    const chain = chains[index] ?? -1;
    const jws = signer.sign(before + (heads[chain] ?? NO_AUDIT_ID) + after);
    const auditId = hash("sha256", jws);
    if (chain >= 0) heads[chain] = auditId;
    const record = { auditId, jws };
    onSealed?.(record);
    return record;
  });
}

/** Makes the compact JWS of a payload, which each response waits for. */
export interface RecordSigner {
  /** Undefined if records are not signed. */
  readonly publicKey: Ed25519PublicKey | undefined;
  /** Signs a JSON text. */
  sign(payload: string): string;
}

/** Creates a signer with an Ed25519 private key; without one the third segment stays empty. */
export function createRecordSigner(key?: KeyObject): RecordSigner {
  if (key === undefined) {
    const opening = `${encode('{"alg":"none","typ":"JWT"}')}.`;
    return { publicKey: undefined, sign: (payload) => `${opening}${encode(payload)}.` };
  }
  const publicKey = publicKeyOf(key);
  if (publicKey === undefined) throw new TypeError("records are signed with Ed25519 keys only");
  const header = { alg: "EdDSA", kid: keyId(publicKey), typ: "JWT" };
  const opening = `${encode(JSON.stringify(header))}.`;
  const sign = createEd25519Signer(key);
  return {
    publicKey,
    sign: (payload) => {
      const input = opening + encode(payload);
      return `${input}.${sign(octetsOf(input)).toString("base64url")}`;
    },
  };
}

/** A scratch buffer for encoding; allocating one per text would take longer than encoding it. */
const scratch = Buffer.allocUnsafeSlow(64 * 1024);
/** The most UTF-8 octets of one UTF-16 code unit. */
const OCTETS_OF_UNIT = 3;

function encode(text: string): string {
  if (text.length * OCTETS_OF_UNIT > scratch.length) return Buffer.from(text).toString("base64url");
  return scratch.toString("base64url", 0, scratch.write(text, 0));
}

/** Returns the octets of an ASCII text, valid until the next encoding. */
function octetsOf(text: string): Uint8Array {
  if (text.length > scratch.length) return Buffer.from(text, "latin1");
  return scratch.subarray(0, scratch.write(text, 0, "latin1"));
}

/** Returns the detached signature of 64 octets, valid until the next call. */
type Ed25519Signer = (octets: Uint8Array) => Buffer;

/** The functions of sodium-native in use. */
export interface Sodium {
  /** Allocates memory between guard pages that is neither swapped nor dumped. */
  sodium_malloc(octets: number): Buffer;
  sodium_memzero(octets: Buffer): void;
  crypto_sign_seed_keypair(publicKey: Buffer, secretKey: Buffer, seed: Buffer): void;
  crypto_sign_detached(signature: Buffer, message: Uint8Array, secretKey: Buffer): void;
}

const SEED_OCTETS = 32;
const PUBLIC_KEY_OCTETS = 32;
const SECRET_KEY_OCTETS = 64;
const SIGNATURE_OCTETS = 64;
/** The PKCS #8 form of an Ed25519 key ends with its seed.   RFC 8410 §7 */
const PKCS8_OCTETS = 48;

const PROBE: Buffer = Buffer.from("whoever signs this, the signature is the same");

/**
 * Creates a signer for an Ed25519 private key. libsodium takes half the time of OpenSSL, and signatures are
 * deterministic. OpenSSL signs where libsodium lacks the platform, or disagrees with it. RFC 8032 §5.1.6
 */
export function createEd25519Signer(
  key: KeyObject,
  load: () => Sodium | undefined = loadSodium,
): Ed25519Signer {
  const byOpenSsl: Ed25519Signer = (octets) => sign(null, octets, key);
  const sodium = load();
  const bySodium = sodium && createSodiumSigner(sodium, key);
  return bySodium?.(PROBE).equals(byOpenSsl(PROBE)) === true ? bySodium : byOpenSsl;
}

function createSodiumSigner(sodium: Sodium, key: KeyObject): Ed25519Signer | undefined {
  const pkcs8 = key.export({ type: "pkcs8", format: "der" });
  if (pkcs8.length !== PKCS8_OCTETS) return undefined;
  const secretKey = sodium.sodium_malloc(SECRET_KEY_OCTETS);
  const seed = pkcs8.subarray(-SEED_OCTETS);
  sodium.crypto_sign_seed_keypair(Buffer.alloc(PUBLIC_KEY_OCTETS), secretKey, seed);
  sodium.sodium_memzero(pkcs8);
  const signature = Buffer.alloc(SIGNATURE_OCTETS);
  return (octets) => {
    sodium.crypto_sign_detached(signature, octets, secretKey);
    return signature;
  };
}

/** Loads libsodium; undefined if it has no build for this platform. */
export function loadSodium(): Sodium | undefined {
  try {
    return createRequire(import.meta.url)("sodium-native") as Sodium;
  } catch {
    return undefined;
  }
}
