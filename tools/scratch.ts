/** Directories that go when what was done in them is done, and certificates for servers in them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureCertificate } from "../src/server/certificate.ts";
import { removeAtEnd } from "./leftovers.ts";

/** Runs something in a directory of its own, which is removed afterwards. */
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

/** Makes a certificate for loopback in a directory; answers where it and its key are. */
export async function makeCertificate(
  directory: string,
): Promise<{ readonly cert: string; readonly key: string }> {
  await ensureCertificate(directory);
  return { cert: join(directory, "cert.pem"), key: join(directory, "key.pem") };
}
