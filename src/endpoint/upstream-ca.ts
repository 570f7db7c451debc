/** Reads the CA file of an external service: PEM with at least one valid certificate. */
import { relative, resolve } from "node:path";
import { type FileText, readBoundedFile } from "../base/bounded-file.ts";
import type { Problem } from "../base/problem.ts";
import { readTrustAnchors } from "../identity/client-certificate-verification.ts";

const MAX_BYTES = 1_048_576;

/** Reads a PEM file, relative to the deployment directory. */
export function readCertificates(directory: string, path: string): FileText {
  const read = readBoundedFile(resolve(directory, path), MAX_BYTES);
  if (read.fault !== undefined) return { fault: `${JSON.stringify(path)} ${read.fault}` };
  if (holdsCertificates(read.text)) return read;
  return { fault: `${JSON.stringify(path)} holds no PEM certificate, or one that is damaged` };
}

/** Reads the CAs that a configuration key names; undefined for the system's. */
export function readConfiguredCa(
  path: string | undefined,
  key: string,
  { directory, file }: { readonly directory: string; readonly file: string },
): { readonly ca: string | undefined; readonly problems: readonly Problem[] } {
  if (path === undefined) return { ca: undefined, problems: [] };
  const { text, fault } = readCertificates(directory, path);
  if (text !== undefined) return { ca: text, problems: [] };
  return { ca: undefined, problems: [{ file: relative(directory, file), key, message: fault }] };
}

/** Tells whether a text has certificates, all of them valid. */
export function holdsCertificates(pem: string): boolean {
  try {
    return readTrustAnchors(pem).length > 0;
  } catch {
    return false;
  }
}
