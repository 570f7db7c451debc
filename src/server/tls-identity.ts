/**
 * The certificates of listeners: certificate, key and client CA of `[tls]`, from files or self-made, and those
 * that `[gateway]` and `[console]` name. Everything wrong with them stops the start.
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

/** The certificates that the server shows and trusts, or the problems with them. */
interface LoadedTlsIdentity {
  readonly identity: TlsIdentity | undefined;
  readonly fingerprint256: string;
  readonly problems: readonly Problem[];
}

/** The keys that say so. */
interface TlsSource extends ConfigPlace {
  readonly tls: TlsConfig;
}

/** Loads or makes the TLS identity; with `isPersistent` false a missing one is not made. */
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

/** A CA that expired is replaced while the daemon runs: it is no reason not to start. */
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

/** The certificate of an HTTP listener, or what is wrong with it. */
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

/** Loads the certificate that a section names, where it is needed.   `[gateway]`, `[console]` */
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

/** Reads a pair of the configuration; problems name its files as that does. */
function readNamed(cert: string, key: string, directory: string): CertificateReading {
  const reading = readCertificate(cert, key);
  if (reading.problems === undefined) return reading;
  const problems = reading.problems.map((problem) => ({
    ...problem,
    file: relative(directory, problem.file) || problem.file,
  }));
  return { problems };
}
