/** The certificates that a deployment shows or trusts, each with the place that names it. */
import { X509Certificate } from "node:crypto";
import { readBoundedFile } from "../../base/bounded-file.ts";
import type { EndpointDefinition } from "../../endpoint/endpoint.ts";
import { nameOf, type Subject } from "./check.ts";
import { keyDirectory, listTree, madeCertificate } from "./deployment-paths.ts";

/** One file of certificates. */
export interface CertificateFile {
  /** As findings name it: the file that names the certificates, or their own where none does. */
  readonly file: string;
  readonly key: string;
  /** Shown to peers, made by the daemon for itself, trusted, or kept by `agtp-keys`. */
  readonly use: "shown" | "made" | "trusted" | "kept";
  /** In the order of the file; what cannot be parsed is not among them. */
  readonly certificates: readonly X509Certificate[];
}

const MAX_BYTES = 1024 * 1024;
const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Every file of certificates that is known to be one. */
export function certificateFiles(subject: Subject): readonly CertificateFile[] {
  const { config, configFile, endpoints } = subject;
  const { tls, gateway, console, webhooks, peers } = config;
  const taken = new Set<string>();
  const named = (
    key: string,
    path: string | undefined,
    use: CertificateFile["use"],
  ): readonly CertificateFile[] => {
    if (path === undefined) return [];
    taken.add(path);
    return [{ file: configFile, key, use, certificates: readCertificateFile(path) }];
  };
  const unnamed = (path: string, use: CertificateFile["use"]): CertificateFile => {
    return { file: nameOf(subject, path), key: "", use, certificates: readCertificateFile(path) };
  };
  const all = [
    ...named("tls.cert", tls.cert, "shown"),
    ...(tls.cert === undefined ? [unnamed(madeCertificate(config), "made")] : []),
    ...named("tls.client_ca", tls.clientCa, "trusted"),
    ...named("gateway.cert", gateway.cert, "shown"),
    ...named("console.cert", console.cert, "shown"),
    ...named("console.oidc.ca", console.oidc?.ca, "trusted"),
    ...named("webhooks.ca", webhooks.ca, "trusted"),
    ...peers.flatMap((peer, index) => [
      ...named(`peers[${index}].ca`, peer.ca, "trusted"),
      ...named(`peers[${index}].cert`, peer.cert, "shown"),
    ]),
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
export function readCertificateFile(path: string): readonly X509Certificate[] {
  return parseAll(readBoundedFile(path, MAX_BYTES).text ?? "");
}

function parseAll(pem: string): readonly X509Certificate[] {
  return (pem.match(BLOCK) ?? []).flatMap((block) => {
    try {
      return [new X509Certificate(block)];
    } catch {
      return [];
    }
  });
}
