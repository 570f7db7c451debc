/** Octets as text, strictly: what is not UTF-8 is no text, and nothing stands in for it. */
import { Buffer } from "node:buffer";
import { TextDecoder } from "node:util";

const DECODER = new TextDecoder("utf-8", { fatal: true });
const EXACT_DECODER = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** The text without a byte order mark; undefined for what is none. */
export function decodeUtf8(octets: Uint8Array): string | undefined {
  return decode(DECODER, octets);
}

/** The text with its byte order mark, which is a character where octets were signed. */
export function decodeExactUtf8(octets: Uint8Array): string | undefined {
  return decode(EXACT_DECODER, octets);
}

const MARK = Buffer.from("\ufeff");

/** The octets without the byte order mark that they may begin with. */
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
