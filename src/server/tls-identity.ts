/**
 * Loads the certificates of the listeners: certificate, key and client CA of `[tls]`, from files or self-signed, and
 * those that `[gateway]` and `[console]` name. Any error in them prevents the start.
 */
import { join, relative } from "node:path";
import type { ConfigPlace } from "../base/deployment-files.ts";
import { isError, type Problem } from "../base/problem.ts";
import { reasonOf } from "../base/thrown.ts";
import { readCertificates } from "../endpoint/upstream-ca.ts";
import { checkTrustAnchor, readTrustAnchors } from "../identity/client-certificate-verification.ts";
import type { TlsConfig } from "../identity/identity-sections.ts";
import {
  type CertificateReading,
  ensureCertificate,
  readCertificate,
  type ServerCertificate,
} from "./certificate.ts";
import type { HttpTls } from "./http-listener.ts";
import type { TlsIdentity } from "./listener.ts";

/** The server's certificate and trust anchors, or the problems with them. */
interface LoadedTlsIdentity {
  readonly identity: TlsIdentity | undefined;
  readonly fingerprint256: string;
  readonly problems: readonly Problem[];
}

/** The configuration that names them. */
interface TlsSource extends ConfigPlace {
  readonly tls: TlsConfig;
}

/** Loads the TLS identity, and creates a missing one if `isPersistent`. */
export async function loadTlsIdentity(
  config: TlsSource,
  { isPersistent }: { readonly isPersistent: boolean },
): Promise<LoadedTlsIdentity> {
  const { tls, directory } = config;
  const file = relative(directory, config.file);
  const problems: Problem[] = [];
  const certificate = await loadCertificate(config, isPersistent, problems);
  const ca = tls.clientCa === undefined ? undefined : readCertificates(directory, tls.clientCa);
  const place = { file, key: "tls.client_ca" };
  if (ca?.fault !== undefined) problems.push({ ...place, message: ca.fault });
  for (const message of findUselessAnchors(ca?.text)) {
    problems.push({ ...place, message, severity: "warning" });
  }
  if (certificate === undefined || problems.some(isError)) {
    return { identity: undefined, fingerprint256: "", problems };
  }
  const { cert, key, fingerprint256 } = certificate;
  return {
    identity: { cert, key, clientAuth: tls.clientAuth, clientCa: ca?.text },
    fingerprint256,
    problems,
  };
}

/**
 * Reports unusable trust anchors as warnings: an expired CA can be replaced at run time, and need not prevent the
 * start.
 */
function findUselessAnchors(pem = ""): readonly string[] {
  const now = Date.now();
  return readTrustAnchors(pem).flatMap((anchor, index) => {
    const reason = checkTrustAnchor(anchor, now)?.fault;
    return reason === undefined
      ? []
      : [`certificate ${index + 1} vouches for nobody: it ${reason}`];
  });
}

async function loadCertificate(
  { tls, directory, file }: TlsSource,
  isPersistent: boolean,
  problems: Problem[],
): Promise<ServerCertificate | undefined> {
  if (tls.cert !== undefined && tls.key !== undefined) {
    const reading = readNamed(tls.cert, tls.key, directory);
    if (reading.problems === undefined) return reading;
    problems.push(...reading.problems);
    return undefined;
  }
  if (!isPersistent) return undefined;
  try {
    return await ensureCertificate(join(directory, ".agtp", "tls"));
  } catch (error) {
    const reason = reasonOf(error);
    const message = `no certificate can be made: ${reason}`;
    problems.push({ file: relative(directory, file), key: "tls.cert", message });
    return undefined;
  }
}

/** The certificate of an HTTP listener, or the problems with it. */
interface LoadedHttpTls {
  /** Undefined: plain HTTP. */
  readonly tls: HttpTls | undefined;
  readonly problems: readonly Problem[];
}

interface HttpTlsSection {
  readonly enabled: boolean;
  readonly cert?: string;
  readonly key?: string;
}

/** Loads the certificate of a section that is enabled and names one.   `[gateway]`, `[console]` */
export function loadHttpTls(
  { enabled, cert, key }: HttpTlsSection,
  { directory }: Pick<ConfigPlace, "directory">,
): LoadedHttpTls {
  if (!enabled || cert === undefined || key === undefined) return { tls: undefined, problems: [] };
  const reading = readNamed(cert, key, directory);
  return reading.problems === undefined
    ? { tls: reading, problems: [] }
    : { tls: undefined, problems: reading.problems };
}

/** Reads a certificate and key of the configuration; problems name the files relative to it. */
function readNamed(cert: string, key: string, directory: string): CertificateReading {
  const reading = readCertificate(cert, key);
  if (reading.problems === undefined) return reading;
  const problems = reading.problems.map((problem) => ({
    ...problem,
    file: relative(directory, problem.file) || problem.file,
  }));
  return { problems };
}
