/**
 * The server's TLS certificate: the operator's own, read and checked, or a self-signed one that is made once and
 * kept in the state directory, so that a first start needs no preparation. Clients trust the self-signed one by its
 * file or its fingerprint.   AGTP "Transport"
 */
import { createPublicKey, randomUUID, type X509Certificate } from "node:crypto";
import { link, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createSecureContext } from "node:tls";
import { readBoundedFile } from "../base/bounded-file.ts";
import { makeDirectory } from "../base/paths.ts";
import type { Problem } from "../base/problem.ts";
import { reasonOf } from "../base/thrown.ts";
import type { EncodedExtension } from "../identity/certificate-agent-extensions.ts";
import { encodeElement, encodeSequence } from "../identity/certificate-der.ts";
import { readPair } from "../identity/certificate-pair.ts";
import {
  createSigner,
  encodeName,
  makeKey,
  parsePrivateKey,
  writeCertificate,
} from "../identity/certificate-writer.ts";

/** A certificate with its key, as `tls.createServer` takes them. */
export interface ServerCertificate {
  /** PEM, the leaf certificate first. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
  /** SHA-256 of the leaf certificate: upper-case hex pairs with colons. */
  readonly fingerprint256: string;
}

/** A usable certificate, or every reason why it is not. */
export type CertificateReading =
  | (ServerCertificate & { readonly problems?: undefined })
  | { readonly problems: readonly Problem[] };

const MAX_BYTES = 256 * 1024;
const DAY_MS = 86_400_000;
const RENEW_BEFORE_MS = 30 * DAY_MS;
const ATTEMPTS = 3;

/** Reads a certificate and its key, and checks that they match and are valid from `now` to `until`. */
export function readCertificate(
  certPath: string,
  keyPath: string,
  now: number = Date.now(),
  until: number = now,
): CertificateReading {
  const problems: Problem[] = [];
  const report: Report = (file, message, hint) => {
    problems.push({ file, key: "", message, ...(hint === undefined ? {} : { hint }) });
  };
  const cert = readBoundedFile(certPath, MAX_BYTES);
  if (cert.fault !== undefined) report(certPath, cert.fault);
  const key = readBoundedFile(keyPath, MAX_BYTES);
  if (key.fault !== undefined) report(keyPath, key.fault);
  if (cert.text === undefined || key.text === undefined) return { problems };

  const pair = { cert: cert.text, key: key.text };
  const paths = { cert: certPath, key: keyPath };
  const certificate = readPair(pair, (member, ...told) => report(paths[member], ...told));
  if (certificate === undefined) return { problems };
  const isPair = problems.length === 0;
  checkValidity(certificate, now, until, (message, hint) => report(certPath, message, hint));
  const fault = isPair ? findTlsFault(pair) : undefined;
  if (fault !== undefined) report(certPath, `cannot serve TLS: ${fault}`);
  if (problems.length > 0) return { problems };
  return { ...pair, fingerprint256: certificate.fingerprint256 };
}

/**
 * Returns the certificate kept as cert.pem and key.pem in `directory`. Makes one if none is usable, and renews it
 * with the same key when it expires in fewer than 30 days.
 */
export async function ensureCertificate(
  directory: string,
  now: number = Date.now(),
): Promise<ServerCertificate> {
  const paths = { cert: join(directory, "cert.pem"), key: join(directory, "key.pem") };
  const kept = readKept(paths, now);
  if (kept.problems === undefined) return kept;
  makeDirectory(directory, 0o700);
  for (let attempt = 1; ; attempt += 1) {
    const made = makeSelfSigned(await ensureKey(paths.key), now);
    await place(paths.cert, made, { mode: 0o644, isUsable: () => isUsable(paths, now) });
    const result = readKept(paths, now);
    // The file is read back, since another daemon of this deployment may have written it first.
    if (result.problems === undefined) return result;
    if (attempt === ATTEMPTS) throw new Error(describeFailure(result.problems));
  }
}

interface PairPaths {
  readonly cert: string;
  readonly key: string;
}

/** Reads the kept certificate, which must stay valid for the whole renewal period. */
function readKept(paths: PairPaths, now: number): CertificateReading {
  return readCertificate(paths.cert, paths.key, now, now + RENEW_BEFORE_MS);
}

function isUsable(paths: PairPaths, now: number): boolean {
  return readKept(paths, now).problems === undefined;
}

/** Keeps an existing key, so that a renewed certificate has the key that clients know. */
async function ensureKey(path: string): Promise<string> {
  const isUsableKey = (): boolean => {
    const { text } = readBoundedFile(path, MAX_BYTES);
    return text !== undefined && isOwnPrivateKey(text);
  };
  if (!isUsableKey()) await place(path, makeKey("p256"), { mode: 0o600, isUsable: isUsableKey });
  return readFile(path, "utf8");
}

/**
 * Writes a complete file atomically. If two daemons find no file, `link` lets one of them win; an unusable file is
 * replaced.
 */
async function place(
  path: string,
  content: string,
  { mode, isUsable }: { readonly mode: number; readonly isUsable: () => boolean },
): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`;
  try {
    await writeFile(temporary, content, { mode, flag: "wx" });
    await link(temporary, path).catch(async (error: NodeJS.ErrnoException) => {
      // Some file systems have no hard links; the rename is atomic there too.
      if (error.code !== "EEXIST" || !isUsable()) await rename(temporary, path);
    });
  } finally {
    await rm(temporary, { force: true });
  }
}

type Report = (file: string, message: string, hint?: string) => void;

const RENEWAL = "have it issued anew and put it in its place";

function checkValidity(
  certificate: X509Certificate,
  now: number,
  until: number,
  report: (message: string, hint?: string) => void,
): void {
  const { validFrom, validTo } = certificate;
  if (Date.parse(validTo) <= until) report(`expired on ${validTo}`, RENEWAL);
  else if (Date.parse(validFrom) > now) report(`is not valid before ${validFrom}`);
}

/** Lets OpenSSL decide on a broken chain, or a key too small for its security level. */
function findTlsFault(pair: { readonly cert: string; readonly key: string }): string | undefined {
  try {
    createSecureContext({ ...pair, ca: [], minVersion: "TLSv1.3" });
    return undefined;
  } catch (error) {
    return reasonOf(error);
  }
}

function describeFailure(problems: readonly Problem[]): string {
  const reasons = problems.map((problem) => `${problem.file} ${problem.message}`);
  return `no certificate could be made: ${reasons.join(", ")}`;
}

/** The longest validity that common TLS clients accept. */
const LIFETIME_DAYS = 825;
/** Tags of GeneralName.   RFC 5280 §4.2.1.6 */
const DNS_NAME = 0x82;
const IP_ADDRESS = 0x87;
/** DNS:localhost, IP:127.0.0.1 and IP:::1.   RFC 5280 §4.2.1.6 */
const NAMES: EncodedExtension = {
  oid: "2.5.29.17",
  isCritical: false,
  value: encodeSequence(
    encodeElement(DNS_NAME, Buffer.from("localhost")),
    encodeElement(IP_ADDRESS, Buffer.from([127, 0, 0, 1])),
    encodeElement(IP_ADDRESS, Buffer.from([...Array(15).fill(0), 1])),
  ),
};

/** True if the text is a private key of the kind made here. */
function isOwnPrivateKey(pem: string): boolean {
  return parsePrivateKey(pem)?.asymmetricKeyDetails?.namedCurve === "prime256v1";
}

/** Makes a self-signed certificate in PEM for localhost, 127.0.0.1 and ::1, valid from an hour before `now`. */
function makeSelfSigned(keyPem: string, now: number): string {
  const signer = createSigner(keyPem);
  if ("fault" in signer) throw new Error(signer.fault);
  const subject = encodeName([["CN", "agtpd"]]);
  return writeCertificate({
    subject,
    publicKey: createPublicKey(keyPem),
    issuer: { signer, name: subject, keyIdentifier: undefined },
    // Allows for client clocks up to an hour behind.
    notBefore: now - 3_600_000,
    notAfter: now + LIFETIME_DAYS * DAY_MS,
    role: "server",
    extensions: [NAMES],
  }).toString();
}
