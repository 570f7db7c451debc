/**
 * The syntax of identifiers in requests and documents. The gates decide how a malformed one is
 * answered.   AGTP-IDENTIFIERS
 */

const SHA256 = /^[0-9a-f]{64}$/;
const OWNER_ID = /^[A-Za-z0-9_:.-]{1,256}$/;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i;
/** Crockford's alphabet lacks I, L, O and U; a first digit above 7 would overflow 128 bits. */
const ULID = /^[0-7][0-9A-HJKMNP-TV-Z]{25}$/i;
const VISIBLE = /^[\x21-\x7e]{1,256}$/;

/** Returns true for a canonical Agent-ID: the SHA-256 of a Genesis in lower-case hex. */
export function isAgentId(text: string): boolean {
  return text.length === 64 && SHA256.test(text);
}

/** Returns true for an Audit-ID, or any other SHA-256 in lower-case hex. */
export function isSha256(text: string): boolean {
  return SHA256.test(text);
}

/** `owner-id = 1*256(ALPHA / DIGIT / "-" / "_" / ":" / ".")` */
export function isOwnerId(text: string): boolean {
  return OWNER_ID.test(text);
}

/** Returns true for a Request-ID: a UUIDv7 or a ULID, made by the caller. */
export function isRequestId(text: string): boolean {
  return text.length === 36 ? UUID_V7.test(text) : ULID.test(text);
}

/** Returns true for a Session-ID or Task-ID: opaque, but visible ASCII, because it is echoed and logged. */
export function isOpaqueId(text: string): boolean {
  return VISIBLE.test(text);
}
