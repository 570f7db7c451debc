/**
 * Keys that a manifest may be signed with, as a command line names them: base64url, PEM, or one of
 * the documents that publish a key: a Genesis, an identity document, a JWK or a set of them.
 */

import { isRecord } from "../../base/json-value.ts";
import {
  type Ed25519PublicKey,
  publicKeyOf,
  readPrivateKey,
  readPublicKey,
} from "../../identity/ed25519.ts";
import { parseBoundedJson } from "../../identity/json-document.ts";
import { keyOfHeader } from "../../identity/jws.ts";
import { readText, usage } from "../shell/command-file.ts";
import type { Terminal } from "../shell/terminal.ts";

/** Members of documents that hold an issuer's key. */
const KEY_MEMBERS = ["issuer_public_key", "manifest_issuer_public_key"];
const MAX_KEYS = 64;

/** The keys that some flags name; throws ERR_AGTP_REQUEST for one that names none. */
export function readSigningKeys(
  written: readonly string[],
  terminal: Terminal,
): readonly Ed25519PublicKey[] {
  return written.flatMap((one) => {
    const key = readPublicKey(one);
    if (key !== undefined) return [key];
    const keys = keysOf(readText(terminal.directory, one));
    if (keys.length > 0) return keys;
    const expected = "an Ed25519 key in PEM, base64url or JWK, a Genesis or an identity document";
    throw usage(`${JSON.stringify(one)} must hold ${expected}`);
  });
}

function keysOf(text: string): readonly Ed25519PublicKey[] {
  if (text.trimStart().startsWith("{")) return keysOfDocument(text);
  const secret = text.includes("PRIVATE KEY-----") ? readPrivateKey(text) : undefined;
  const key = secret === undefined ? readPublicKey(text) : publicKeyOf(secret);
  return key === undefined ? [] : [key];
}

function keysOfDocument(text: string): readonly Ed25519PublicKey[] {
  const parsed = parseBoundedJson(text);
  if (parsed.fault !== undefined || !isRecord(parsed.value)) return [];
  const document = parsed.value;
  const { keys } = document;
  const jwks: readonly unknown[] = Array.isArray(keys) ? keys.slice(0, MAX_KEYS) : [document];
  return [
    ...KEY_MEMBERS.flatMap((name) => {
      const member = document[name];
      return (typeof member === "string" ? readPublicKey(member) : undefined) ?? [];
    }),
    ...jwks.flatMap((jwk) => keyOfHeader({ jwk }) ?? []),
  ];
}
