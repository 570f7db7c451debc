/** A self-signed P-256 certificate for tests that open a TLS port; it is its own CA. */
import "reflect-metadata";
import { webcrypto } from "node:crypto";
import {
  BasicConstraintsExtension,
  PemConverter,
  SubjectAlternativeNameExtension,
  X509CertificateGenerator,
} from "@peculiar/x509";

/** PEM texts as `tls.createServer` takes them. */
export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
}

/** What a test may choose about its certificate. */
interface TestCertificateOptions {
  readonly names?: readonly string[];
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

/** Wide, since a test may stand at another date than the machine. */
const VALIDITY = { notBefore: new Date("2020-01-01"), notAfter: new Date("2070-01-01") };

/** Host names and IP addresses are told apart; the default is localhost, 127.0.0.1 and ::1. */
export async function makeCertificate(
  options: TestCertificateOptions = {},
): Promise<TestCertificate> {
  const algorithm = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
  const keys = await webcrypto.subtle.generateKey(algorithm, true, ["sign", "verify"]);
  const names = options.names ?? ["localhost", "127.0.0.1", "::1"];
  const certificate = await X509CertificateGenerator.createSelfSigned(
    {
      name: "CN=test",
      notBefore: options.notBefore ?? VALIDITY.notBefore,
      notAfter: options.notAfter ?? VALIDITY.notAfter,
      signingAlgorithm: algorithm,
      keys,
      extensions: [
        new BasicConstraintsExtension(true, undefined, true),
        new SubjectAlternativeNameExtension(
          names.map((value) => ({ type: /^[\d.]+$|:/.test(value) ? "ip" : "dns", value })),
        ),
      ],
    },
    webcrypto,
  );
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { cert: certificate.toString("pem"), key: PemConverter.encode(key, "PRIVATE KEY") };
}
