/**
 * Reads option values and key files of command lines; invalid ones throw ERR_AGTP_REQUEST. A
 * private key that others can read is used with a warning. Also prints the results of the commands
 * that make something.
 */

import { createPublicKey, type JsonWebKey, type KeyObject } from "node:crypto";
import { statSync } from "node:fs";
import { resolve } from "node:path";
import { parseAuthorityScope } from "../../identity/authority-scope.ts";
import {
  type Ed25519PublicKey,
  publicKeyOf,
  readPrivateKey,
  readPublicKey,
} from "../../identity/ed25519.ts";
import { readText, usage } from "../shell/command.ts";
import { printJson } from "../shell/print-json.ts";
import { defuseLine, type Terminal } from "../shell/terminal.ts";

/** Reads the text of a file that holds a private key. */
export function readSecret(file: string, terminal: Terminal): string {
  const text = readText(terminal.directory, file);
  const isKey = text.includes("PRIVATE KEY-----");
  if (isKey && (statSync(resolve(terminal.directory, file)).mode & 0o077) !== 0) {
    const advice = "can be read by others, its permissions should be 0600";
    terminal.err.write(`agtp-keys: warning: ${defuseLine(JSON.stringify(file))} ${advice}\n`);
  }
  return text;
}

/** Reads an Ed25519 private key. */
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

/** Reads one verification key from a file. */
export function readVerificationKey(file: string, terminal: Terminal): Ed25519PublicKey {
  const text = readText(terminal.directory, file);
  const isPrivate = text.includes("PRIVATE KEY-----");
  const key = isPrivate ? publicKeyOf(readSigningKey(file, terminal)) : readPublicKey(text);
  if (key !== undefined) return key;
  throw usage(`${JSON.stringify(file)} must be an Ed25519 public key, base64url or PEM`);
}

/** Reads public keys of passkeys: files with a JWK, a record's `public_key`, or PEM. */
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

/** The options of every command that makes files. */
export const MAKING_OPTIONS = {
  "--json": "print JSON",
  "--force": "replace files that are there",
} as const;

/** Prints facts in two columns, or as JSON. */
export function printFacts(
  facts: Readonly<Record<string, string | undefined>>,
  json: boolean,
  { out }: Terminal,
): void {
  if (json) {
    printJson(facts, out);
    return;
  }
  const entries = Object.entries(facts).flatMap(([name, value]) =>
    value === undefined ? [] : [[name.replaceAll("_", " "), value] as const],
  );
  const width = Math.max(...entries.map(([name]) => name.length));
  for (const [name, value] of entries) {
    out.write(`${name.padEnd(width)}  ${defuseLine(value)}\n`);
  }
}

/** Safe in a URI after /agents/, and as a file name. */
const NAME = /^[A-Za-z0-9_-]{1,64}$/;

/** Reads the name of an agent and of its files. */
export function readName(name: string): string {
  if (NAME.test(name)) return name;
  throw usage(`expected a --name of 1 to 64 of A-Z a-z 0-9 - _, got ${JSON.stringify(name)}`);
}

/** Reads a list of scopes; an empty text is an empty list. */
export function readScopes(text: string | undefined): readonly string[] | undefined {
  if (text === undefined || text.trim() === "") return text === undefined ? undefined : [];
  const scopes = parseAuthorityScope(text);
  if (scopes !== undefined) return scopes;
  throw usage(`expected scopes such as a:b,c:d, got ${JSON.stringify(text)}`);
}

export const TRUST_TIERS: readonly ["1", "2", "3"] = ["1", "2", "3"];

/** Reads a trust tier. */
export function readTrustTier(text: string): 1 | 2 | 3 {
  return Number(readChoice("--trust-tier", text, TRUST_TIERS)) as 1 | 2 | 3;
}

/** Reads one of the given words. */
export function readChoice<Word extends string>(
  flag: string,
  text: string,
  words: readonly Word[],
): Word {
  const word = words.find((one) => one === text);
  if (word !== undefined) return word;
  throw usage(`expected ${flag} to be one of ${words.join(", ")}, got ${JSON.stringify(text)}`);
}

/** Reads a number of days; the issuer checks its bounds. */
export function readDays(text: string): number {
  if (/^[0-9]{1,6}$/.test(text)) return Number(text);
  throw usage(`expected --days to be a whole number, got ${JSON.stringify(text)}`);
}
