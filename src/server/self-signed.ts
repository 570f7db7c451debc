/**
 * Makes a P-256 key, and a self-signed certificate for loopback names over such a key. Clients can
 * trust the certificate as its own CA.   AGTP "Transport"
 */
import {
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  webcrypto,
} from "node:crypto";
import { parsePrivateKey } from "../identity/certificate-writer.ts";

const DAY_MS = 86_400_000;
/** The longest life that widely used TLS clients accept. */
const LIFETIME_DAYS = 825;
const NAMES = [
  { type: "dns", value: "localhost" },
  { type: "ip", value: "127.0.0.1" },
  { type: "ip", value: "::1" },
] as const;
const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** A new P-256 private key as PKCS #8 PEM. */
export function makePrivateKey(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}

/** Tells whether a text is a private key that `makeSelfSigned` can sign with. */
export function isOwnPrivateKey(pem: string): boolean {
  return parsePrivateKey(pem)?.asymmetricKeyDetails?.namedCurve === "prime256v1";
}

/** A certificate in PEM for localhost, 127.0.0.1 and ::1, valid from an hour before `now`. */
export async function makeSelfSigned(keyPem: string, now: number): Promise<string> {
  // A start that finds its certificate does not pay for the library, and it needs this polyfill.
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  const { KeyUsageFlags } = x509;
  const keys = await importKeys(createPrivateKey(keyPem));
  const certificate = await x509.X509CertificateGenerator.createSelfSigned(
    {
      name: "CN=agtpd",
      // An hour covers the clocks of clients that run a little behind.
      notBefore: new Date(now - 3_600_000),
      notAfter: new Date(now + LIFETIME_DAYS * DAY_MS),
      signingAlgorithm: ALGORITHM,
      keys,
      extensions: [
        new x509.BasicConstraintsExtension(true, 0, true),
        new x509.KeyUsagesExtension(
          KeyUsageFlags.digitalSignature | KeyUsageFlags.keyCertSign,
          true,
        ),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        new x509.SubjectAlternativeNameExtension([...NAMES]),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey, false, webcrypto),
      ],
    },
    webcrypto,
  );
  return `${certificate.toString("pem")}\n`;
}

async function importKeys(privateKey: KeyObject): Promise<webcrypto.CryptoKeyPair> {
  const { subtle } = webcrypto;
  const pkcs8 = privateKey.export({ type: "pkcs8", format: "der" });
  const spki = createPublicKey(privateKey).export({ type: "spki", format: "der" });
  return {
    privateKey: await subtle.importKey("pkcs8", pkcs8, ALGORITHM, false, ["sign"]),
    publicKey: await subtle.importKey("spki", spki, ALGORITHM, true, ["verify"]),
  };
}
