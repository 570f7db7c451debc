/** Certificates: those that the deployment shows, trusts or keeps. */
import { createPrivateKey, type X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { readBoundedFile } from "../../../base/bounded-file.ts";
import type { EndpointDefinition } from "../../../endpoint/endpoint.ts";
import { parsePemCertificate, pemBlocks } from "../../../identity/certificate-chain.ts";
import type { Severity } from "../../shell/findings.ts";
import { type Check, nameOf, type Observation, type Subject } from "../check.ts";
import { filesNamed, keyDirectory, listTree, madeCertificate } from "../deployment-paths.ts";

interface CertificateFile {
  /** As findings name it: the file that names the certificates, or their own where none does. */
  readonly file: string;
  readonly key: string;
  /** Shown to peers, made by the daemon for itself, trusted, or kept by `agtp-keys`. */
  readonly use: "shown" | "made" | "trusted" | "kept";
  /** In the order of the file; what cannot be parsed is not among them. */
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

/** The certificates in a file; none where there is no file. */
function readCertificateFile(path: string): readonly X509Certificate[] {
  return parseAll(readBoundedFile(path, MAX_PEM_BYTES).text ?? "");
}

function parseAll(pem: string): readonly X509Certificate[] {
  return pemBlocks(pem).flatMap((block) => parsePemCertificate(block) ?? []);
}

const DAY_MS = 86_400_000;
const SOON_MS = 30 * DAY_MS;

/** In the order in which they are asked. */
export const CERTIFICATES_CHECKS: readonly Check[] = [
  // Certificates that are over, will soon be, or have not begun.   RFC 5280 §4.1.2.5
  {
    id: "certificate-expiry",
    asks: "are all certificates valid, and for a while to come?",
    look: (subject) =>
      certificateFiles(subject).flatMap((file) => judgeFile(file, subject.machine.now)),
  },
  // Clients cannot take the server's certificate for the server's.   RFC 9110 §4.3.4
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
  // A certificate and the key beside it do not belong together.
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

/** A bundle of authorities has one observation, about the worst of its certificates. */
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
    // The next start makes a new one.
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

/** A server id may be anything; only what could stand in a certificate is looked for there. */
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
