/**
 * The certificate, key and client CA of `[tls]`, from files or self-made. Everything wrong with them
 * stops the start.
 */
import { join, relative } from "node:path";
import type { Config } from "../config/config.ts";
import { readCertificates } from "../contract/upstream-ca.ts";
import type { Problem } from "../problem.ts";
import { reasonOf } from "../thrown.ts";
import { ensureCertificate, readCertificate, type ServerCertificate } from "./certificate.ts";
import type { TlsIdentity } from "./listener.ts";

/** What the server shows and trusts, or what is wrong with it. */
export interface LoadedTlsIdentity {
  readonly identity: TlsIdentity | undefined;
  readonly fingerprint256: string;
  readonly problems: readonly Problem[];
}

/** Loads or makes the TLS identity; with `isPersistent` false a missing one is not made. */
export async function loadTlsIdentity(
  config: Config,
  { isPersistent }: { readonly isPersistent: boolean },
): Promise<LoadedTlsIdentity> {
  const { tls, directory } = config;
  const file = relative(directory, config.file);
  const problems: Problem[] = [];
  const certificate = await loadCertificate(config, isPersistent, problems);
  const ca = tls.clientCa === undefined ? undefined : readCertificates(directory, tls.clientCa);
  if (ca?.fault !== undefined) problems.push({ file, key: "tls.client_ca", message: ca.fault });
  if (certificate === undefined || problems.length > 0) {
    return { identity: undefined, fingerprint256: "", problems };
  }
  const { cert, key, fingerprint256 } = certificate;
  return {
    identity: { cert, key, clientAuth: tls.clientAuth, clientCa: ca?.text },
    fingerprint256,
    problems,
  };
}

async function loadCertificate(
  { tls, directory, file }: Config,
  isPersistent: boolean,
  problems: Problem[],
): Promise<ServerCertificate | undefined> {
  if (tls.cert !== undefined && tls.key !== undefined) {
    const reading = readCertificate(tls.cert, tls.key);
    if (reading.problems === undefined) return reading;
    problems.push(
      ...reading.problems.map((problem) => ({
        ...problem,
        file: relative(directory, problem.file) || problem.file,
      })),
    );
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
