/** Checks of the certificates that the deployment presents, trusts or keeps. */
import { createPrivateKey, type X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { readBoundedFile } from "../../../base/bounded-file.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import { parsePemCertificate, pemBlocks } from "../../../identity/certificate-chain.ts";
import type { Severity } from "../../shell/findings.ts";
import { type Check, nameOf, type Observation, type Subject } from "../check.ts";
import { filesNamed, keyDirectory, listTree, madeCertificate } from "../deployment-paths.ts";

interface CertificateFile {
  /** The file in findings: the one that names the certificates, or their own if none does. */
  readonly file: string;
  readonly key: string;
  /** Presented to peers, made by the daemon itself, trusted, or kept by `agtp-keys`. */
  readonly use: "shown" | "made" | "trusted" | "kept";
  /** The certificates in file order, without unparsable ones. */
  readonly certificates: readonly X509Certificate[];
}

function certificateFiles(subject: Subject): readonly CertificateFile[] {
  const { config, configFile, endpoints } = subject;
  const taken = new Set<string>();
  const named = (name: string, use: CertificateFile["use"]): readonly CertificateFile[] =>
    filesNamed(config, name).map(({ path, key }) => {
      taken.add(path);
      return { file: configFile, key, use, certificates: readCertificateFile(path) };
    });
  const unnamed = (path: string, use: CertificateFile["use"]): CertificateFile => {
    return { file: nameOf(subject, path), key: "", use, certificates: readCertificateFile(path) };
  };
  const all = [
    ...named("cert", "shown"),
    ...(config.tls.cert === undefined ? [unnamed(madeCertificate(config), "made")] : []),
    ...named("client_ca", "trusted"),
    ...named("ca", "trusted"),
    ...endpoints.flatMap(upstreamCa),
    ...listTree(keyDirectory(config))
      .filter((path) => path.endsWith(".pem") && !taken.has(path))
      .map((path) => unnamed(path, "kept")),
  ];
  return all.filter(({ certificates }) => certificates.length > 0);
}

function upstreamCa({ file, handler }: EndpointDefinition): readonly CertificateFile[] {
  if (handler.type !== "external_service" || handler.ca === undefined) return [];
  const key = "endpoint.handler.ca";
  return [{ file, key, use: "trusted", certificates: parseAll(handler.ca) }];
}

/** Reads the certificates in a file; none if there is no file. */
function readCertificateFile(path: string): readonly X509Certificate[] {
  return parseAll(readBoundedFile(path, MAX_PEM_BYTES).text ?? "");
}

function parseAll(pem: string): readonly X509Certificate[] {
  return pemBlocks(pem).flatMap((block) => parsePemCertificate(block) ?? []);
}

const DAY_MS = 86_400_000;
const SOON_MS = 30 * DAY_MS;

/** The checks, in the order in which they run. */
export const CERTIFICATES_CHECKS: readonly Check[] = [
  // Certificates that have expired, will expire soon, or are not valid yet.   RFC 5280 §4.1.2.5
  {
    id: "certificate-expiry",
    asks: "are all certificates valid, and for a while to come?",
    look: (subject) =>
      certificateFiles(subject).flatMap((file) => judgeFile(file, subject.machine.now)),
  },
  // Clients will not accept the server's certificate for its name.   RFC 9110 §4.3.4
  {
    id: "certificate-names",
    asks: "does the certificate name the server?",
    look: ({ config: { server, tls }, configFile }) => {
      const [certificate] = tls.cert === undefined ? [] : readCertificateFile(tls.cert);
      if (certificate === undefined) return [];
      const at = { file: configFile, key: "tls.cert" };
      const alternatives = certificate.subjectAltName ?? "";
      if (alternatives === "") {
        const message = "has no subject alternative name, and clients look at nothing else";
        const hint = "have a certificate issued with the server's names as DNS names";
        return [{ ...at, severity: "error", message, hint }];
      }
      const names = [...new Set([server.serverId, server.domain ?? server.serverId])].filter(
        isHostName,
      );
      const isNamed = names.some((name) => certificate.checkHost(name) !== undefined);
      if (names.length === 0 || isNamed) return [];
      const message = `names ${alternatives.slice(0, 200)}, and not ${names.join(" or ")}`;
      const hint =
        "have a certificate issued for the server's name, or give server_id and domain the names it has";
      return [{ ...at, severity: "warning", message, hint }];
    },
  },
  // A certificate does not match the key beside it.
  {
    id: "certificate-key",
    asks: "does each certificate have its own key?",
    look: ({ config, configFile }) => {
      const keys = new Map(filesNamed(config, "key").map(({ key, path }) => [key, path]));
      return filesNamed(config, "cert").flatMap((certificate) => {
        const key = certificate.key.replace(/cert$/, "key");
        const path = keys.get(key);
        const message = path === undefined ? undefined : findKeyFault(certificate.path, path);
        if (message === undefined) return [];
        const hint =
          "name the key that the certificate was issued for, as PEM without a passphrase";
        return [{ severity: "error", file: configFile, key, message, hint }];
      });
    },
  },
];

/** Reports one observation for a bundle of CAs, about its worst certificate. */
function judgeFile(source: CertificateFile, now: number): readonly Observation[] {
  const { file, key, use, certificates } = source;
  const judged = certificates.flatMap((one) => judgeValidity(one, use, now) ?? []);
  const worst = judged.find(({ severity }) => severity === "error") ?? judged[0];
  if (worst === undefined) return [];
  const count =
    certificates.length === 1 ? "" : `${judged.length} of ${certificates.length} certificates: `;
  return [{ ...worst, file, key, message: count + worst.message, hint: hintFor(use) }];
}

function judgeValidity(
  certificate: X509Certificate,
  use: CertificateFile["use"],
  now: number,
): { readonly severity: Severity; readonly message: string } | undefined {
  const from = Date.parse(certificate.validFrom);
  const to = Date.parse(certificate.validTo);
  const name = subjectOf(certificate);
  if (to <= now) {
    // The daemon replaces its own certificate at the next start.
    return {
      severity: use === "made" ? "warning" : "error",
      message: `${name} expired on ${dateOf(to)}`,
    };
  }
  if (from > now)
    return { severity: "error", message: `${name} is not valid before ${dateOf(from)}` };
  // Short-lived certificates are renewed when a third of their lifetime is left.
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

function hintFor(use: CertificateFile["use"]): string {
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

/** Returns true if a server id has the form of a host name, so that it can be in a certificate. */
function isHostName(text: string): boolean {
  return isIP(text) === 0 && /^[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+$/.test(text);
}

const MAX_PEM_BYTES = 1024 * 1024;

function findKeyFault(certPath: string, keyPath: string): string | undefined {
  const [certificate] = readCertificateFile(certPath);
  if (certificate === undefined) return "has no certificate in PEM beside it";
  try {
    const key = createPrivateKey(readBoundedFile(keyPath, MAX_PEM_BYTES).text ?? "");
    return certificate.checkPrivateKey(key) ? undefined : "is not the key of its certificate";
  } catch {
    return "is no private key in PEM, or one with a passphrase";
  }
}
