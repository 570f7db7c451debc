/** Reads the CA file of an external service: PEM, with at least one certificate that parses. */
import { X509Certificate } from "node:crypto";
import { resolve } from "node:path";
import { type FileText, readBoundedFile } from "../base/bounded-file.ts";

const MAX_BYTES = 1_048_576;
const CERTIFICATE = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** The PEM text of a file, relative to the deployment directory. */
export function readCertificates(directory: string, path: string): FileText {
  const read = readBoundedFile(resolve(directory, path), MAX_BYTES);
  if (read.fault !== undefined) return { fault: `${JSON.stringify(path)} ${read.fault}` };
  const blocks = read.text.match(CERTIFICATE) ?? [];
  if (blocks.length > 0 && blocks.every(isCertificate)) return read;
  return { fault: `${JSON.stringify(path)} holds no PEM certificate, or one that is damaged` };
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}
