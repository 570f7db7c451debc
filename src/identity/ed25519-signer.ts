/**
 * Ed25519 for those who sign with every response. libsodium takes half the time that OpenSSL does,
 * and an Ed25519 signature is the same whoever makes it. Where there is no libsodium for the
 * platform, or it does not agree with OpenSSL, OpenSSL signs.   RFC 8032 §5.1.6
 */
import { type KeyObject, sign } from "node:crypto";
import { createRequire } from "node:module";

/** The detached signature of some octets; 64 octets, valid until the next one is asked for. */
export type Ed25519Signer = (octets: Uint8Array) => Buffer;

/** The part of sodium-native that is used. */
export interface Sodium {
  /** Memory between guard pages, which is neither swapped nor dumped. */
  sodium_malloc(octets: number): Buffer;
  sodium_memzero(octets: Buffer): void;
  crypto_sign_seed_keypair(publicKey: Buffer, secretKey: Buffer, seed: Buffer): void;
  crypto_sign_detached(signature: Buffer, message: Uint8Array, secretKey: Buffer): void;
}

const SEED_OCTETS = 32;
const PUBLIC_KEY_OCTETS = 32;
const SECRET_KEY_OCTETS = 64;
const SIGNATURE_OCTETS = 64;
/** PKCS #8 of an Ed25519 key ends with its seed, and with nothing else.   RFC 8410 §7 */
const PKCS8_OCTETS = 48;

const PROBE: Buffer = Buffer.from("whoever signs this, the signature is the same");

/** A signer for an Ed25519 private key. */
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

/** Undefined where it has no build for this platform. */
export function loadSodium(): Sodium | undefined {
  try {
    return createRequire(import.meta.url)("sodium-native") as Sodium;
  } catch {
    return undefined;
  }
}
