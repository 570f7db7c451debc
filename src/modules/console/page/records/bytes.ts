/** Octets as text and back, and their hash. */

const BASE64URL = /^[A-Za-z0-9_-]*$/;

/** The octets of a base64url text; undefined for another text. */
export function fromBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!BASE64URL.test(text)) return undefined;
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    return Uint8Array.from(binary, (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

/** SHA-256 in lower-case hex. */
export async function sha256(octets: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", octets));
  return Array.from(digest, (octet) => octet.toString(16).padStart(2, "0")).join("");
}

/** The octets of a text in UTF-8. */
export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text) as Uint8Array<ArrayBuffer>;
}
