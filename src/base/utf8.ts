/** Strict UTF-8: invalid octets are not replaced, and have no text. */
import { Buffer } from "node:buffer";
import { TextDecoder } from "node:util";

const DECODER = new TextDecoder("utf-8", { fatal: true });
const EXACT_DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes UTF-8 without a byte order mark; undefined for invalid octets. */
export function decodeUtf8(octets: Uint8Array): string | undefined {
  return decode(DECODER, octets);
}

/** Decodes UTF-8 with its byte order mark, which counts as a character where octets were signed. */
export function decodeExactUtf8(octets: Uint8Array): string | undefined {
  return decode(EXACT_DECODER, octets);
}

const MARK = Buffer.from("\ufeff");

/** Removes a leading byte order mark. */
export function withoutMark(octets: Buffer): Buffer {
  const hasMark = octets.subarray(0, MARK.length).equals(MARK);
  return hasMark ? octets.subarray(MARK.length) : octets;
}

function decode(decoder: TextDecoder, octets: Uint8Array): string | undefined {
  try {
    return decoder.decode(octets);
  } catch {
    return undefined;
  }
}
