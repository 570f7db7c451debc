/** Which certificates are over, will soon be, or have not begun.   RFC 5280 §4.1.2.5 */
import type { X509Certificate } from "node:crypto";
import { type CertificateFile, certificateFiles } from "../certificates.ts";
import type { Check, Observation, Severity } from "../finding.ts";

const DAY_MS = 86_400_000;
const SOON_MS = 30 * DAY_MS;

/** The check `certificate-expiry`. */
export const certificateExpiry: Check = {
  id: "certificate-expiry",
  asks: "are all certificates valid, and for a while to come?",
  look: (subject) =>
    certificateFiles(subject).flatMap((file) => examine(file, subject.machine.now)),
};

/** A bundle of authorities has one observation, about the worst of its certificates. */
function examine(source: CertificateFile, now: number): readonly Observation[] {
  const { file, key, use, certificates } = source;
  const judged = certificates.flatMap((one) => judge(one, use, now) ?? []);
  const worst = judged.find(({ severity }) => severity === "error") ?? judged[0];
  if (worst === undefined) return [];
  const count =
    certificates.length === 1 ? "" : `${judged.length} of ${certificates.length} certificates: `;
  return [{ ...worst, file, key, message: count + worst.message, remedy: remedyFor(use) }];
}

function judge(
  certificate: X509Certificate,
  use: CertificateFile["use"],
  now: number,
): { readonly severity: Severity; readonly message: string } | undefined {
  const from = Date.parse(certificate.validFrom);
  const to = Date.parse(certificate.validTo);
  const name = subjectOf(certificate);
  if (to <= now) {
    // Whoever started the daemon again would have a new one.
    return {
      severity: use === "made" ? "warning" : "error",
      message: `${name} expired on ${dateOf(to)}`,
    };
  }
  if (from > now)
    return { severity: "error", message: `${name} is not valid before ${dateOf(from)}` };
  // Some live for weeks only, and are renewed when a third of that is left.
  if (to - now >= Math.min(SOON_MS, (to - from) / 3)) return undefined;
  const days = Math.floor((to - now) / DAY_MS);
  return {
    severity: use === "made" ? "note" : "warning",
    message: `${name} expires on ${dateOf(to)}, in ${days} day${days === 1 ? "" : "s"}`,
  };
}

function subjectOf({ subject }: X509Certificate): string {
  const name = /^CN=(.*)$/m.exec(subject)?.[1];
  return name === undefined ? "a certificate" : `the certificate of ${JSON.stringify(name)}`;
}

function dateOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

function remedyFor(use: CertificateFile["use"]): string {
  switch (use) {
    case "shown":
      return "have it issued anew, put it in its place and send the daemon SIGHUP";
    case "made":
      return "send the daemon SIGHUP or start it again: it makes a new one over the same key";
    case "trusted":
      return "put the authority's new certificate in its place and send the daemon SIGHUP";
    case "kept":
      return "issue it anew with agtp-keys, or delete it when nobody uses it any more";
  }
}
