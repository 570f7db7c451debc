/**
 * Keys that a command line names, read from their files. A private key that others can read is
 * used all the same, and its owner is told.
 */
import { createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import {
  type Ed25519PublicKey,
  publicKeyOf,
  readPrivateKey,
  readPublicKey,
} from "../../identity/ed25519.ts";
import { readText, usage } from "../shell/command.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";

/** The text of a file that holds a private key. */
export function readSecret(file: string, terminal: Terminal): string {
  const text = readText(terminal.directory, file);
  const isKey = text.includes("PRIVATE KEY-----");
  if (isKey && (statSync(resolve(terminal.directory, file)).mode & 0o077) !== 0) {
    const advice = "can be read by others, its permissions should be 0600";
    terminal.err.write(`agtp-keys: warning: ${defuseLine(JSON.stringify(file))} ${advice}\n`);
  }
  return text;
}

/** An Ed25519 private key. */
export function readSigningKey(file: string, terminal: Terminal): KeyObject {
  const key = readPrivateKey(readSecret(file, terminal));
  if (key !== undefined) return key;
  throw usage(`${JSON.stringify(file)} must be an Ed25519 private key in PEM, not encrypted`);
}

/** Reads a verification key from a file. */
export function readVerificationKeys(
  written: readonly string[],
  terminal: Terminal,
): readonly Ed25519PublicKey[] {
  return written.map((one) => readPublicKey(one) ?? readVerificationKey(one, terminal));
}

/** One of them, from a file. */
export function readVerificationKey(file: string, terminal: Terminal): Ed25519PublicKey {
  const text = readText(terminal.directory, file);
  const isPrivate = text.includes("PRIVATE KEY-----");
  const key = isPrivate ? publicKeyOf(readSigningKey(file, terminal)) : readPublicKey(text);
  if (key !== undefined) return key;
  throw usage(`${JSON.stringify(file)} must be an Ed25519 public key, base64url or PEM`);
}

/** Public keys of passkeys: files with a JWK, a record's `public_key`, or PEM. */
export function readPasskeys(
  files: readonly string[],
  { directory }: Terminal,
): readonly KeyObject[] {
  return files.map((file) => {
    const text = readText(directory, file);
    try {
      if (!text.trimStart().startsWith("{")) return createPublicKey(text);
      return createPublicKey({ key: JSON.parse(text) as JsonWebKey, format: "jwk" });
    } catch {
      throw usage(`${JSON.stringify(file)} must be the public key of a passkey, JWK or PEM`);
    }
  });
}
