/** Whether clients can take the server's certificate for the server's.   RFC 9110 §4.3.4 */
import { isIP } from "node:net";
import { readCertificateFile } from "../certificates.ts";
import type { Check } from "../finding.ts";

/** The check `certificate-names`. */
export const certificateNames: Check = {
  id: "certificate-names",
  asks: "does the certificate name the server?",
  look: ({ config: { server, tls }, configFile }) => {
    const [certificate] = tls.cert === undefined ? [] : readCertificateFile(tls.cert);
    if (certificate === undefined) return [];
    const at = { file: configFile, key: "tls.cert" };
    const alternatives = certificate.subjectAltName ?? "";
    if (alternatives === "") {
      const message = "has no subject alternative name, and clients look at nothing else";
      const remedy = "have a certificate issued with the server's names as DNS names";
      return [{ ...at, severity: "error", message, remedy }];
    }
    const names = [...new Set([server.serverId, server.domain ?? server.serverId])].filter(isName);
    const isNamed = names.some((name) => certificate.checkHost(name) !== undefined);
    if (names.length === 0 || isNamed) return [];
    const message = `names ${alternatives.slice(0, 200)}, and not ${names.join(" or ")}`;
    const remedy =
      "have a certificate issued for the server's name, or give server_id and domain the names it has";
    return [{ ...at, severity: "warning", message, remedy }];
  },
};

/** A server id may be anything; only what could stand in a certificate is looked for there. */
function isName(text: string): boolean {
  return isIP(text) === 0 && /^[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+$/.test(text);
}
