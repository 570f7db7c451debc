/** Whether certificates and keys that stand together belong together. */
import { createPrivateKey } from "node:crypto";
import { readBoundedFile } from "../../../base/bounded-file.ts";
import { readCertificateFile } from "../certificates.ts";
import type { Check } from "../finding.ts";

const MAX_BYTES = 1024 * 1024;

/** The check `certificate-key`. */
export const certificateKey: Check = {
  id: "certificate-key",
  asks: "does each certificate have its own key?",
  look: ({ config: { tls, gateway, peers }, configFile }) => {
    const pairs = [
      { section: "tls", ...tls },
      { section: "gateway", cert: gateway.cert, key: gateway.key },
      ...peers.map(({ cert, key }, index) => ({ section: `peers[${index}]`, cert, key })),
    ];
    return pairs.flatMap(({ section, cert, key }) => {
      const fault = cert === undefined || key === undefined ? undefined : findFault(cert, key);
      if (fault === undefined) return [];
      const remedy =
        "name the key that the certificate was issued for, as PEM without a passphrase";
      return [
        { severity: "error", file: configFile, key: `${section}.key`, message: fault, remedy },
      ];
    });
  },
};

function findFault(certPath: string, keyPath: string): string | undefined {
  const [certificate] = readCertificateFile(certPath);
  if (certificate === undefined) return "has no certificate in PEM beside it";
  try {
    const key = createPrivateKey(readBoundedFile(keyPath, MAX_BYTES).text ?? "");
    return certificate.checkPrivateKey(key) ? undefined : "is not the key of its certificate";
  } catch {
    return "is no private key in PEM, or one with a passphrase";
  }
}
