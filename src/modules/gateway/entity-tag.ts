/** Entity tags: what a client that has a representation already is spared.   RFC 9110 §8.8.3, §13.1.2 */
import { hash } from "node:crypto";

/** The tag of a body under its content type. */
export function entityTag(body: string | Uint8Array, contentType: string): string {
  const digest = hash("sha256", body, "base64url");
  const type = hash("sha256", contentType, "base64url");
  return `"${digest.slice(0, 27)}.${type.slice(0, 6)}"`;
}

const TAG = /(?:W\/)?("[^"]*")/g;

/** Tells whether an If-None-Match names the tag; compared as weak tags are. */
export function isNoneMatch(field: string | undefined, tag: string): boolean {
  if (field === undefined) return false;
  if (field.trim() === "*") return true;
  const own = tag.replace(/^W\//, "");
  for (const [, opaque] of field.matchAll(TAG)) if (opaque === own) return true;
  return false;
}
