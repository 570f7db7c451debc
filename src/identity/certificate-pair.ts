/** A certificate and its private key, both in PEM, as files of an operator hold them. */
import type { X509Certificate } from "node:crypto";
import { parsePemCertificate } from "./certificate-chain.ts";
import { parsePrivateKey } from "./certificate-writer.ts";

interface PemPair {
  readonly cert: string;
  readonly key: string;
}

/** Reads the certificate; problems with it or with its key are reported. */
export function readPair(
  { cert, key }: PemPair,
  report: (member: keyof PemPair, message: string, hint?: string) => void,
): X509Certificate | undefined {
  const certificate = parsePemCertificate(cert);
  if (certificate === undefined) report("cert", "must be a certificate in PEM");
  const privateKey = parsePrivateKey(key);
  if (privateKey === undefined) report("key", "must be a private key in PEM, not encrypted");
  else if (certificate?.checkPrivateKey(privateKey) === false) {
    const hint = "name the key that the certificate was issued for in key, beside cert";
    report("key", "is not the certificate's key", hint);
  }
  return certificate;
}
