/**
 * The canonical form under signatures and Agent-IDs: RFC 8785, with some members left out.
 * AGTP "Agent Genesis", RFC 8785
 */
import { hash } from "node:crypto";
import canonicalize from "canonicalize";
import type { JsonRecord } from "../base/json-value.ts";

/** The canonical octets of a document without some of its members; throws for what JCS rejects. */
export function canonicalForm(document: JsonRecord, without: readonly string[] = []): Buffer {
  const members = Object.entries(document).filter(([name]) => !without.includes(name));
  return canonicalOctets(Object.fromEntries(members));
}

/** The canonical octets of any JSON value; throws for what JCS rejects. */
export function canonicalOctets(value: unknown): Buffer {
  return Buffer.from(canonicalText(value), "utf8");
}

/** The canonical text of any JSON value; throws for what JCS rejects. */
export function canonicalText(value: unknown): string {
  return canonicalize(value) ?? "";
}

/** The canonical text of an untrusted value; undefined if JCS rejects it, for a lone surrogate or its depth. */
export function canonicalTextOf(value: unknown): string | undefined {
  try {
    return canonicalText(value);
  } catch {
    return undefined;
  }
}

/** `sha256:` and the hash of a document's canonical form; throws for what JCS rejects. */
export function canonicalDigest(document: JsonRecord): string {
  return `sha256:${hash("sha256", canonicalForm(document))}`;
}
