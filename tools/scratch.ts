/** Temporary directories that are removed after use, and certificates for servers in them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureCertificate } from "../src/server/certificate.ts";
import { removeAtEnd } from "./leftovers.ts";

/** Runs work in a temporary directory, which is removed afterwards. */
export async function inScratch<T>(run: (directory: string) => T | Promise<T>): Promise<T> {
  const directory = mkdtempSync(join(tmpdir(), "agtpd-scratch-"));
  const removed = removeAtEnd(directory);
  try {
    return await run(directory);
  } finally {
    removed();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Makes a certificate for loopback in a directory; returns the paths of it and its key. */
export async function makeCertificate(
  directory: string,
): Promise<{ readonly cert: string; readonly key: string }> {
  await ensureCertificate(directory);
  return { cert: join(directory, "cert.pem"), key: join(directory, "key.pem") };
}
