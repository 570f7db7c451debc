/**
 * The issuers whose signatures count. A verified signature only shows that the key in the document
 * made it; it grants something if the operator listed that key, or if the key is the server's own.
 * AGTP-TRUST "Trust Anchors"
 */
import { readBoundedFile } from "../base/bounded-file.ts";
import type { Problem } from "../base/problem.ts";
import { type Ed25519PublicKey, publicKeyOf, readPrivateKey, readPublicKey } from "./ed25519.ts";

/** The configured issuers. */
interface IssuerSettings {
  /** `policies.identity.trusted_issuers`: base64url or PEM. */
  readonly trustedIssuers: readonly string[];
  /** `signing.key`, absolute: the server trusts its own signatures. */
  readonly signingKey?: string | undefined;
  /** The configuration's file, as problems name it. */
  readonly file: string;
}

const MAX_KEY_BYTES = 65_536;

/** Reads the configured keys. An unreadable signing key is reported by the signer instead. */
export function readTrustedIssuers(settings: IssuerSettings): {
  readonly keys: readonly Ed25519PublicKey[];
  readonly problems: readonly Problem[];
} {
  const keys: Ed25519PublicKey[] = [];
  const problems: Problem[] = [];
  for (const [index, text] of settings.trustedIssuers.entries()) {
    const key = readPublicKey(text);
    if (key !== undefined) keys.push(key);
    else {
      problems.push({
        file: settings.file,
        key: `policies.identity.trusted_issuers[${index}]`,
        message: "must be an Ed25519 public key, base64url or PEM",
      });
    }
  }
  const own = readOwnIssuer(settings.signingKey);
  return { keys: own === undefined ? keys : [...keys, own], problems };
}

/** Returns true for the key of a trusted issuer. */
export function isTrustedIssuer(
  { fingerprint }: Ed25519PublicKey,
  trusted: readonly Ed25519PublicKey[],
): boolean {
  return trusted.some((key) => key.fingerprint === fingerprint);
}

function readOwnIssuer(path: string | undefined): Ed25519PublicKey | undefined {
  if (path === undefined) return undefined;
  const { text } = readBoundedFile(path, MAX_KEY_BYTES);
  const key = text === undefined ? undefined : readPrivateKey(text);
  return key === undefined ? undefined : publicKeyOf(key);
}
