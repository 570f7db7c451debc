/** Frames that arrive in whatever pieces. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { FrameReader, frameOf, MAX_FRAME } from "../../src/base/link.ts";
import { cargoOf } from "../support/cargo.ts";

const ASCII = fc.string({ unit: "grapheme-ascii" });

it("come out as they went in, however the stream cuts them", () => {
  const frame = fc.record({ text: fc.json(), lines: fc.array(ASCII, { maxLength: 4 }) });
  const cuts = fc.array(fc.nat(300), { maxLength: 20 });
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 6 }), cuts, (frames, at) => {
      const stream = Buffer.concat(
        frames.map(({ text, lines }) =>
          frameOf(text, cargoOf(lines.map((line) => `${line}\n`).join(""))),
        ),
      );
      const reader = new FrameReader();
      const ends = [...at.filter((end) => end < stream.length).toSorted((a, b) => a - b)];
      const read: { text: string; lines: string }[] = [];
      let from = 0;
      for (const end of [...ends, stream.length]) {
        for (const { text, octets } of reader.take(stream.subarray(from, end))) {
          read.push({ text, lines: octets.toString("latin1") });
        }
        from = end;
      }
      const sent = frames.map(({ text, lines }) => ({
        text,
        lines: lines.map((line) => `${line}\n`).join(""),
      }));
      expect(read).toEqual(sent);
    }),
  );
});

function lengths(text: number, octets: number): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32LE(text, 0);
  head.writeUInt32LE(octets, 4);
  return head;
}

it.each([
  ["no text", lengths(0, 0)],
  ["octets without a text", lengths(0, 5)],
  ["a text that is too long", lengths(MAX_FRAME, 0)],
  ["octets that are too many", lengths(2, 0xffff_ffff)],
  ["another stream's middle", Buffer.from('{"name":"commit","body":{}}')],
])("are told from %s as soon as their lengths are there", (_, octets) => {
  for (const cut of [octets.length, 8, 3]) {
    const reader = new FrameReader();
    expect(() => {
      reader.take(octets.subarray(0, cut));
      reader.take(octets.subarray(cut));
    }).toThrow(RangeError);
  }
  const behind = Buffer.concat([frameOf("{}"), octets]);
  expect(() => new FrameReader().take(behind)).toThrow(RangeError);
});
