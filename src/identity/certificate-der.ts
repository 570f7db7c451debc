/**
 * Reads and writes DER. One level is read at a time, so that no input causes recursion; callers ask
 * for an element's children. Only DER is accepted: definite lengths in their shortest form, low tag
 * numbers, nothing after the end. Everything else reads as undefined.   X.690 §8, §10
 */

/** One element, its header included in `encoded`. */
export interface DerElement {
  readonly tag: number;
  readonly content: Buffer;
  readonly encoded: Buffer;
}

/** The tags of certificates and their extensions. */
export const DerTag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectIdentifier: 0x06,
  utf8String: 0x0c,
  printableString: 0x13,
  ia5String: 0x16,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  context0: 0xa0,
  context1: 0xa1,
  context3: 0xa3,
} as const;

const HIGH_TAG_NUMBER = 0x1f;
const LONG_LENGTH = 0x80;
/** Three length octets reach 16 MiB, more than anything that is read here. */
const MAX_LENGTH_OCTETS = 3;
const MAX_OID_OCTETS = 64;

/** Reads octets that are exactly one element; undefined if anything follows it. */
export function readElement(octets: Buffer): DerElement | undefined {
  const element = readElementAt(octets, 0);
  return element?.encoded.length === octets.length ? element : undefined;
}

/** Reads octets that are a sequence of elements. */
export function readElements(octets: Buffer): readonly DerElement[] | undefined {
  const elements: DerElement[] = [];
  for (let start = 0; start < octets.length; ) {
    const element = readElementAt(octets, start);
    if (element === undefined) return undefined;
    elements.push(element);
    start += element.encoded.length;
  }
  return elements;
}

/** The child elements of an element with this tag; undefined for another tag or a missing element. */
export function childrenOf(
  element: DerElement | undefined,
  tag: number,
): readonly DerElement[] | undefined {
  return element?.tag === tag ? readElements(element.content) : undefined;
}

/** An object identifier in dotted form. */
export function readOid(element: DerElement | undefined): string | undefined {
  if (element?.tag !== DerTag.objectIdentifier) return undefined;
  const { content } = element;
  if (content.length === 0 || content.length > MAX_OID_OCTETS) return undefined;
  const numbers: bigint[] = [];
  let number = 0n;
  let isFirstOctet = true;
  for (const octet of content) {
    if (isFirstOctet && octet === 0x80) return undefined;
    number = (number << 7n) | BigInt(octet & 0x7f);
    isFirstOctet = octet < 0x80;
    if (!isFirstOctet) continue;
    numbers.push(number);
    number = 0n;
  }
  if (!isFirstOctet) return undefined;
  const [first = 0n, ...rest] = numbers;
  // The first number encodes two arcs; only under root 2 can the second exceed 39.
  const root = first < 80n ? first / 40n : 2n;
  return [root, first - root * 40n, ...rest].join(".");
}

/** The octets of a non-negative integer, without leading zeros; 0 is one zero octet. */
export function readNatural(element: DerElement | undefined): Buffer | undefined {
  if (element?.tag !== DerTag.integer) return undefined;
  const [first, second] = element.content;
  if (first === undefined || first >= 0x80) return undefined;
  if (first !== 0 || second === undefined) return element.content;
  return second >= 0x80 ? element.content.subarray(1) : undefined;
}

/** A boolean; DER has exactly one encoding of each value. */
export function readBoolean(element: DerElement | undefined): boolean | undefined {
  if (element?.tag !== DerTag.boolean || element.content.length !== 1) return undefined;
  const [octet] = element.content;
  return octet === 0xff ? true : octet === 0 ? false : undefined;
}

function readElementAt(octets: Buffer, start: number): DerElement | undefined {
  const tag = octets[start];
  const first = octets[start + 1];
  if (tag === undefined || first === undefined) return undefined;
  if ((tag & HIGH_TAG_NUMBER) === HIGH_TAG_NUMBER) return undefined;
  if (first < LONG_LENGTH) return elementOf(octets, start, start + 2, first);
  const lengthOctets = first - LONG_LENGTH;
  // Zero length octets mean the indefinite form.
  if (lengthOctets === 0 || lengthOctets > MAX_LENGTH_OCTETS) return undefined;
  const contentStart = start + 2 + lengthOctets;
  if (contentStart > octets.length) return undefined;
  const length = octets.readUIntBE(start + 2, lengthOctets);
  const isShortest = length >= LONG_LENGTH && octets[start + 2] !== 0;
  return isShortest ? elementOf(octets, start, contentStart, length) : undefined;
}

function elementOf(
  octets: Buffer,
  start: number,
  contentStart: number,
  length: number,
): DerElement | undefined {
  const end = contentStart + length;
  if (end > octets.length) return undefined;
  return {
    tag: octets[start] ?? 0,
    content: octets.subarray(contentStart, end),
    encoded: octets.subarray(start, end),
  };
}

/** Encodes an element with this tag around its parts. */
export function encodeElement(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), encodeLength(content.length), content]);
}

/** Encodes a SEQUENCE of elements. */
export function encodeSequence(...elements: readonly Uint8Array[]): Buffer {
  return encodeElement(DerTag.sequence, ...elements);
}

/** Encodes an object identifier from its dotted form. */
export function encodeOid(dotted: string): Buffer {
  const [root = 0n, second = 0n, ...rest] = dotted.split(".").map(BigInt);
  const numbers = [root * 40n + second, ...rest];
  return encodeElement(DerTag.objectIdentifier, Buffer.from(numbers.flatMap(encodeNumber)));
}

/** Encodes a time in whole seconds; UTCTime ends before 2050.   RFC 5280 §4.1.2.5 */
export function encodeTime(time: number): Buffer {
  const digits = new Date(time).toISOString().replace(/\.\d+|[-:T]/g, "");
  const isShort = digits >= "1950" && digits < "2050";
  return isShort
    ? encodeElement(DerTag.utcTime, Buffer.from(digits.slice(2), "latin1"))
    : encodeElement(DerTag.generalizedTime, Buffer.from(digits, "latin1"));
}

/** Encodes octets as a BIT STRING without unused bits. */
export function encodeBits(octets: Uint8Array): Buffer {
  return encodeElement(DerTag.bitString, Buffer.from([0]), octets);
}

function encodeLength(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const octets: number[] = [];
  for (let rest = length; rest > 0; rest >>>= 8) octets.unshift(rest & 0xff);
  return Buffer.from([0x80 | octets.length, ...octets]);
}

/** Seven bits an octet, most significant first; all octets but the last have the eighth bit set. */
function encodeNumber(number: bigint): readonly number[] {
  const octets = [Number(number & 0x7fn)];
  for (let rest = number >> 7n; rest > 0n; rest >>= 7n) {
    octets.unshift(0x80 | Number(rest & 0x7fn));
  }
  return octets;
}
