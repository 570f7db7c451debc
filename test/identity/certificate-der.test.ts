import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  childrenOf,
  DerTag,
  encodeElement,
  encodeOid,
  encodeSequence,
  encodeTime,
  readBoolean,
  readElement,
  readElements,
  readNatural,
  readOid,
} from "../../src/identity/certificate-der.ts";

function hex(text: string): Buffer {
  return Buffer.from(text.replaceAll(" ", ""), "hex");
}

const octets = fc.uint8Array({ maxLength: 400 }).map((array) => Buffer.from(array));
/** Octets of which many begin as DER does. */
const nearlyDer = fc
  .array(
    fc.oneof(
      fc.constantFrom(0x30, 0x02, 0x04, 0x06, 0x80, 0x81, 0x82, 0x83, 0x84, 0x00, 0x01, 0x1f, 0xff),
      fc.nat({ max: 255 }),
    ),
    { maxLength: 24 },
  )
  .map((array) => Buffer.from(array));

// X.690 §8.1, §10.1
describe("readElement", () => {
  it.each([
    ["a short length", "04 02 aabb", "aabb"],
    ["no content", "05 00", ""],
    ["one octet of length", `04 81 80 ${"aa".repeat(128)}`, "aa".repeat(128)],
    ["two octets of length", `04 82 0100 ${"aa".repeat(256)}`, "aa".repeat(256)],
  ])("reads an element with %s", (_, text, content) => {
    expect(readElement(hex(text))?.content.toString("hex")).toBe(content);
  });

  it.each([
    ["nothing", ""],
    ["a tag alone", "30"],
    ["content that is cut short", "04 02 aa"],
    ["a length that is cut short", "04 82 01"],
    ["the indefinite form", "30 80 0000"],
    ["a length in more octets than it needs", "04 81 01 aa"],
    ["a length with a leading zero", `04 82 0080 ${"aa".repeat(128)}`],
    ["a length of four octets", "04 84 00000001 aa"],
    ["the reserved length", "04 ff"],
    ["a high tag number", "1f 01 00"],
    ["something after it", "05 00 00"],
  ])("refuses %s", (_, text) => {
    expect(readElement(hex(text))).toBeUndefined();
  });
});

describe("readElements", () => {
  it("reads siblings, and none of nothing", () => {
    expect(readElements(hex("0500 0401aa"))?.map(({ tag }) => tag)).toEqual([5, 4]);
    expect(readElements(hex(""))).toEqual([]);
    expect(readElements(hex("0500 04"))).toBeUndefined();
  });

  it("takes apart whatever it takes without loss, in the one form that there is", () => {
    const check = (input: Buffer): void => {
      const elements = readElements(input);
      if (elements === undefined) return;
      expect(Buffer.concat(elements.map(({ encoded }) => encoded)).equals(input)).toBe(true);
      for (const { tag, content, encoded } of elements) {
        expect(encodeElement(tag, content).equals(encoded)).toBe(true);
      }
    };
    fc.assert(fc.property(nearlyDer, check), { numRuns: 5_000 });
    fc.assert(fc.property(octets, check), { numRuns: 500 });
  });

  it("reads what was written", () => {
    const tag = fc.constantFrom(...Object.values(DerTag));
    fc.assert(
      fc.property(fc.array(fc.tuple(tag, octets), { maxLength: 5 }), (parts) => {
        const sequence = encodeSequence(
          ...parts.map(([one, content]) => encodeElement(one, content)),
        );
        const children = childrenOf(readElement(sequence), DerTag.sequence);
        expect(children?.map((child) => [child.tag, child.content])).toEqual(parts);
      }),
      { numRuns: 200 },
    );
  });

  it("is not deeper for input that is", () => {
    let deep: Buffer = Buffer.alloc(0);
    for (let depth = 0; depth < 5_000; depth += 1) deep = encodeSequence(deep);
    expect(readElement(deep)?.encoded.length).toBe(deep.length);
  });
});

describe("childrenOf", () => {
  it("asks for a tag", () => {
    const sequence = readElement(hex("3003 0201 05"));
    expect(childrenOf(sequence, DerTag.sequence)).toHaveLength(1);
    expect(childrenOf(sequence, DerTag.octetString)).toBeUndefined();
    expect(childrenOf(undefined, DerTag.sequence)).toBeUndefined();
  });
});

describe("readOid", () => {
  it.each(["1.2.840.113549.1.1.11", "2.5.29.19", "0.39", "1.0.8571", "2.999.3", "2.25.0"])(
    "reads %s",
    (oid) => expect(readOid(readElement(encodeOid(oid)))).toBe(oid),
  );

  it("reads arcs of 128 bits", () => {
    const oid = "2.25.268315605531543067570885820853135175300";
    expect(readOid(readElement(encodeOid(oid)))).toBe(oid);
  });

  it.each([
    ["of no octets", "06 00"],
    ["with an arc that does not end", "06 01 80"],
    ["with an arc that begins with zeros", "06 03 2a8001"],
    ["under another tag", "04 01 2a"],
    ["longer than 64 octets", `06 41 ${"01".repeat(65)}`],
  ])("refuses one %s", (_, text) => {
    expect(readOid(readElement(hex(text)))).toBeUndefined();
  });

  it("has one text for each encoding, and the other way round", () => {
    fc.assert(
      fc.property(nearlyDer, (content) => {
        const element = readElement(encodeElement(DerTag.objectIdentifier, content));
        const oid = readOid(element);
        if (oid !== undefined) expect(encodeOid(oid)).toEqual(element?.encoded);
      }),
      { numRuns: 3_000 },
    );
  });
});

describe("readNatural", () => {
  it.each([
    ["02 01 00", "00"],
    ["02 01 7f", "7f"],
    ["02 02 0080", "80"],
  ])("reads %s", (text, digits) => {
    expect(readNatural(readElement(hex(text)))?.toString("hex")).toBe(digits);
  });

  it.each(["02 00", "02 01 80", "02 02 007f", "02 02 ff00", "04 01 01"])("refuses %s", (text) => {
    expect(readNatural(readElement(hex(text)))).toBeUndefined();
  });
});

describe("readBoolean", () => {
  it.each([
    ["01 01 ff", true],
    ["01 01 00", false],
    ["01 01 01", undefined],
    ["01 00", undefined],
    ["02 01 ff", undefined],
  ])("reads %s as %s", (text, expected) => {
    expect(readBoolean(readElement(hex(text)))).toBe(expected);
  });
});

// RFC 5280 §4.1.2.5
describe("encodeTime", () => {
  it.each([
    ["1950-01-01T00:00:00Z", "170d3530303130313030303030305a"],
    ["2049-12-31T23:59:59.999Z", "170d3439313233313233353935395a"],
    ["2050-01-01T00:00:00Z", "180f32303530303130313030303030305a"],
  ])("writes %s", (time, expected) => {
    expect(encodeTime(Date.parse(time)).toString("hex")).toBe(expected);
  });
});
