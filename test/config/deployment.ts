/** A deployment directory that exists for one test. */
import { generateKeyPairSync } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/** Writes files, by relative name, into a fresh directory; it is removed when the test is over. */
export function makeDeployment(files: Readonly<Record<string, string | Uint8Array>>): string {
  const directory = mkdtempSync(join(tmpdir(), "agtpd-config-"));
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), content);
  }
  return directory;
}

/** A private key in PEM. */
export function makeKey(type: "ed25519" | "x25519"): string {
  // The overloads of generateKeyPairSync do not take a union.
  const { privateKey } =
    type === "ed25519" ? generateKeyPairSync("ed25519") : generateKeyPairSync("x25519");
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
}
