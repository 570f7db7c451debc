/** Writes DER: the few kinds of element that a certificate is made of.   X.690 §8, §10 */
import { DerTag } from "./certificate-der.ts";

/** An element of this tag around its parts. */
export function encodeElement(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), encodeLength(content.length), content]);
}

/** A SEQUENCE of elements. */
export function encodeSequence(...elements: readonly Uint8Array[]): Buffer {
  return encodeElement(DerTag.sequence, ...elements);
}

/** An object identifier, from its dotted form. */
export function encodeOid(dotted: string): Buffer {
  const [root = 0n, second = 0n, ...rest] = dotted.split(".").map(BigInt);
  const numbers = [root * 40n + second, ...rest];
  return encodeElement(DerTag.objectIdentifier, Buffer.from(numbers.flatMap(encodeNumber)));
}

/** A time in whole seconds; 2050 is where UTCTime ends.   RFC 5280 §4.1.2.5 */
export function encodeTime(time: number): Buffer {
  const digits = new Date(time).toISOString().replace(/\.\d+|[-:T]/g, "");
  const isShort = digits >= "1950" && digits < "2050";
  return isShort
    ? encodeElement(DerTag.utcTime, Buffer.from(digits.slice(2), "latin1"))
    : encodeElement(DerTag.generalizedTime, Buffer.from(digits, "latin1"));
}

/** Octets as a BIT STRING without unused bits. */
export function encodeBits(octets: Uint8Array): Buffer {
  return encodeElement(DerTag.bitString, Buffer.from([0]), octets);
}

function encodeLength(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const octets: number[] = [];
  for (let rest = length; rest > 0; rest >>>= 8) octets.unshift(rest & 0xff);
  return Buffer.from([0x80 | octets.length, ...octets]);
}

/** Seven bits an octet, the highest first; all octets but the last have the eighth bit set. */
function encodeNumber(number: bigint): readonly number[] {
  const octets = [Number(number & 0x7fn)];
  for (let rest = number >> 7n; rest > 0n; rest >>= 7n) {
    octets.unshift(0x80 | Number(rest & 0x7fn));
  }
  return octets;
}
