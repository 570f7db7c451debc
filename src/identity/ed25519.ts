/**
 * Ed25519 keys and signatures in AGTP's encodings: public keys as base64url of the raw 32 octets or
 * as PEM, detached signatures as base64url of 64 octets, and a key's fingerprint as the SHA-256 of
 * its raw octets in lower-case hex.   AGTP "Agent Genesis", RFC 8032
 */
import { createPrivateKey, createPublicKey, hash, type KeyObject, sign, verify } from "node:crypto";

/** A public key in each form that is compared. */
export interface Ed25519PublicKey {
  readonly key: KeyObject;
  /** base64url of the raw 32 octets. */
  readonly text: string;
  /** SHA-256 of the raw octets, 64 lower-case hex digits. */
  readonly fingerprint: string;
}

const RAW_KEY = /^[A-Za-z0-9_-]{43}=?$/;
const SIGNATURE = /^[A-Za-z0-9_-]{86}(?:==)?$/;

/** Reads a public key, PEM or base64url; undefined if the text holds none. */
export function readPublicKey(text: string): Ed25519PublicKey | undefined {
  const trimmed = text.trim();
  try {
    if (trimmed.startsWith("-----BEGIN PUBLIC KEY-----"))
      return publicKeyOf(createPublicKey(trimmed));
    if (!RAW_KEY.test(trimmed)) return undefined;
    const x = trimmed.slice(0, 43);
    return publicKeyOf(createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" }));
  } catch {
    return undefined;
  }
}

/**
 * Encodings of points of small order, without the sign bit: under such a key one signature is valid
 * for many texts or for all, and anyone can make it.
 */
const SMALL_ORDER: ReadonlySet<string> = new Set([
  `00${"00".repeat(31)}`,
  `01${"00".repeat(31)}`,
  `ec${"ff".repeat(30)}7f`,
  `ed${"ff".repeat(30)}7f`,
  `ee${"ff".repeat(30)}7f`,
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
]);

function isOfSmallOrder(raw: Buffer): boolean {
  const unsigned = Buffer.from(raw);
  unsigned[31] = (unsigned[31] ?? 0) & 0x7f;
  return SMALL_ORDER.has(unsigned.toString("hex"));
}

/**
 * The forms of a public key, or of a private key's public half; undefined for another algorithm or
 * a degenerate key.
 */
export function publicKeyOf(key: KeyObject): Ed25519PublicKey | undefined {
  if (key.asymmetricKeyType !== "ed25519") return undefined;
  const publicKey = key.type === "private" ? createPublicKey(key) : key;
  const text = publicKey.export({ format: "jwk" }).x;
  if (text === undefined) return undefined;
  const raw = Buffer.from(text, "base64url");
  if (isOfSmallOrder(raw)) return undefined;
  const fingerprint = hash("sha256", raw);
  return { key: publicKey, text, fingerprint };
}

/** Reads an Ed25519 private key from unencrypted PKCS #8 PEM; undefined if the text holds none. */
export function readPrivateKey(pem: string): KeyObject | undefined {
  try {
    const key = createPrivateKey(pem);
    return key.asymmetricKeyType === "ed25519" ? key : undefined;
  } catch {
    return undefined;
  }
}

/** Signs octets; returns the detached signature as base64url. */
export function signDetached(key: KeyObject, octets: Uint8Array): string {
  return sign(null, octets, key).toString("base64url");
}

/** Returns true if a detached base64url signature is this key's over these octets. */
export function verifyDetached(
  { key }: Ed25519PublicKey,
  octets: Uint8Array,
  signature: string,
): boolean {
  if (!SIGNATURE.test(signature)) return false;
  const bytes = Buffer.from(signature, "base64url");
  // The last digit has four unused bits: a text with one of them set is an altered signature.
  if (bytes.toString("base64url") !== signature.slice(0, 86)) return false;
  return verify(null, octets, key, bytes);
}
