/** Octets as text and back, and their hash. */

const BASE64URL = /^[A-Za-z0-9_-]*$/;
const ENCODER = new TextEncoder();
const HEX = Array.from({ length: 256 }, (_, octet) => octet.toString(16).padStart(2, "0"));

/** The octets of a base64url text; undefined for another text. */
export function fromBase64url(text: string): Uint8Array<ArrayBuffer> | undefined {
  if (!BASE64URL.test(text)) return undefined;
  try {
    const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    const octets = new Uint8Array(binary.length);
    for (let at = 0; at < octets.length; at += 1) octets[at] = binary.charCodeAt(at);
    return octets;
  } catch {
    return undefined;
  }
}

/** SHA-256 in lower-case hex. */
export async function sha256(octets: Uint8Array<ArrayBuffer>): Promise<string> {
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", octets));
  let hex = "";
  for (const octet of digest) hex += HEX[octet];
  return hex;
}

/** The octets of a text in UTF-8. */
export function utf8(text: string): Uint8Array<ArrayBuffer> {
  return ENCODER.encode(text) as Uint8Array<ArrayBuffer>;
}
