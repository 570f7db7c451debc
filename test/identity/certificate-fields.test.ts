import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  DerTag,
  encodeBits,
  encodeElement,
  encodeOid,
  encodeSequence,
  readElement,
} from "../../src/identity/certificate-der.ts";
import { readCertificateFields } from "../../src/identity/certificate-fields.ts";

const SHA256 = encodeSequence(encodeOid("1.2.840.10045.4.3.2"));
const SHA384 = encodeSequence(encodeOid("1.2.840.10045.4.3.3"));
const TRUE = Buffer.from([DerTag.boolean, 1, 0xff]);
const FALSE = Buffer.from([DerTag.boolean, 1, 0]);
const NAME = encodeSequence();
const KEY = encodeSequence();

function integer(...octets: readonly number[]): Buffer {
  return encodeElement(DerTag.integer, Buffer.from(octets));
}

function time(text: string, tag: number = DerTag.utcTime): Buffer {
  return encodeElement(tag, Buffer.from(text, "latin1"));
}

function extension(oid: string, ...rest: readonly Buffer[]): Buffer {
  return encodeSequence(encodeOid(oid), ...rest);
}

function extensions(...list: readonly Buffer[]): readonly Buffer[] {
  return [encodeElement(DerTag.context3, encodeSequence(...list))];
}

const VALUE = encodeElement(DerTag.octetString, Buffer.from("value"));

/** The parts of a certificate, of which a test replaces one. */
interface Parts {
  readonly version?: readonly Buffer[];
  readonly serial?: Buffer;
  readonly algorithm?: Buffer;
  readonly notBefore?: Buffer;
  readonly notAfter?: Buffer;
  readonly last?: readonly Buffer[];
  readonly outerAlgorithm?: Buffer;
  readonly signature?: Buffer;
  readonly after?: readonly Buffer[];
}

function certificate(parts: Parts = {}): Buffer {
  const tbs = encodeSequence(
    ...(parts.version ?? [encodeElement(DerTag.context0, integer(2))]),
    parts.serial ?? integer(0x0f, 0xff),
    parts.algorithm ?? SHA256,
    NAME,
    encodeSequence(
      parts.notBefore ?? time("260101000000Z"),
      parts.notAfter ?? time("20500101000000Z", DerTag.generalizedTime),
    ),
    NAME,
    KEY,
    ...(parts.last ?? extensions(extension("2.5.29.19", TRUE, VALUE))),
  );
  return encodeSequence(
    tbs,
    parts.outerAlgorithm ?? parts.algorithm ?? SHA256,
    parts.signature ?? encodeBits(Buffer.alloc(8)),
    ...(parts.after ?? []),
  );
}

// RFC 5280 §4.1
describe("readCertificateFields", () => {
  it("reads the fields and every extension", () => {
    expect(readCertificateFields(certificate())).toEqual({
      serialNumber: "fff",
      signatureAlgorithm: readElement(SHA256),
      notBefore: Date.UTC(2026, 0, 1),
      notAfter: Date.UTC(2050, 0, 1),
      subject: NAME,
      extensions: new Map([["2.5.29.19", { isCritical: true, value: Buffer.from("value") }]]),
    });
  });

  it.each([
    [integer(0), "0"],
    [integer(0, 0x80), "80"],
    [integer(...new Array(20).fill(0x7f)), "7f".repeat(20)],
  ])("reads a serial number without leading zeros: %j", (serial, expected) => {
    expect(readCertificateFields(certificate({ serial }))).toHaveProperty("serialNumber", expected);
  });

  it("takes a certificate of version 1, which has no extensions", () => {
    const fields = readCertificateFields(certificate({ version: [], last: [] }));
    expect(fields).toMatchObject({ serialNumber: "fff", extensions: new Map() });
  });

  it.each([
    ["49", "1231235959Z", Date.UTC(2049, 11, 31, 23, 59, 59)],
    ["50", "0101000000Z", Date.UTC(1950, 0, 1)],
  ])("reads the year %s of a UTCTime", (year, rest, expected) => {
    const fields = readCertificateFields(certificate({ notBefore: time(year + rest) }));
    expect(fields).toHaveProperty("notBefore", expected);
  });

  const malformed: readonly (readonly [string, Parts])[] = [
    ["a negative serial number", { serial: integer(0x80) }],
    ["a serial number with leading zeros", { serial: integer(0, 1) }],
    ["a serial number of 21 octets", { serial: integer(...new Array(21).fill(1)) }],
    ["a time without seconds", { notBefore: time("2601010000Z") }],
    ["a time of another zone", { notBefore: time("260101000000+0100") }],
    ["a day that there is not", { notBefore: time("260230000000Z") }],
    ["an hour that there is not", { notBefore: time("260101240000Z") }],
    ["a long time that says it is short", { notBefore: time("20260101000000Z") }],
    ["a time of another kind", { notBefore: time("260101000000Z", DerTag.octetString) }],
    [
      "a signature with unused bits",
      { signature: encodeElement(DerTag.bitString, Buffer.from([1, 0])) },
    ],
    ["no signature", { signature: encodeElement(DerTag.bitString) }],
    ["a signature of another type", { signature: VALUE }],
    ["something after the signature", { after: [VALUE] }],
    ["something after the extensions", { last: [...extensions(VALUE), VALUE] }],
    ["unique identifiers", { last: [encodeElement(0x81, Buffer.from([0]))] }],
    ["extensions, in version 1", { version: [] }],
    ["extensions, in version 2", { version: [encodeElement(DerTag.context0, integer(1))] }],
    ["a version of nothing", { version: [encodeElement(DerTag.context0)] }],
    ["no extension among the extensions", { last: extensions() }],
    ["two lists of extensions", { last: [encodeElement(DerTag.context3, NAME, NAME)] }],
    ["an extension without a value", { last: extensions(extension("2.5.29.19")) }],
    ["an extension that is no octets", { last: extensions(extension("2.5.29.19", NAME)) }],
    [
      "an extension that says the default",
      { last: extensions(extension("2.5.29.19", FALSE, VALUE)) },
    ],
    ["an extension of four parts", { last: extensions(extension("2.5.29.19", TRUE, TRUE, VALUE)) }],
    ["an extension without a name", { last: extensions(encodeSequence(VALUE)) }],
  ];

  it.each(malformed)("refuses %s", (_, parts) => {
    expect(readCertificateFields(certificate(parts))).toEqual({ fault: "is not well-formed" });
  });

  it("refuses an extension that stands there twice", () => {
    const one = extension("2.5.29.15", TRUE, VALUE);
    const other = extension("2.5.29.15", encodeElement(DerTag.octetString));
    expect(readCertificateFields(certificate({ last: extensions(one, other) }))).toEqual({
      fault: "has the extension 2.5.29.15 twice",
    });
  });

  it("refuses a signature algorithm outside that is not the signed one", () => {
    expect(readCertificateFields(certificate({ outerAlgorithm: SHA384 }))).toEqual({
      fault: "names two different signature algorithms",
    });
  });

  it("refuses more than 65536 bytes unread", () => {
    expect(readCertificateFields(Buffer.alloc(65_537))).toEqual({
      fault: "is longer than 65536 bytes",
    });
  });

  it("answers for whatever octets, and never throws", () => {
    const whole = certificate();
    const place = fc.nat({ max: whole.length - 1 });
    fc.assert(
      fc.property(fc.array(fc.tuple(place, fc.nat({ max: 255 })), { minLength: 1 }), (changes) => {
        const changed = Buffer.from(whole);
        for (const [at, octet] of changes) changed[at] = octet;
        expect(readCertificateFields(changed)).toBeDefined();
      }),
      { numRuns: 3_000 },
    );
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (octets) => {
        expect(readCertificateFields(Buffer.from(octets))).toHaveProperty("fault");
      }),
    );
  });
});
