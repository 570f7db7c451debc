/** Frames that arrive in whatever pieces. */
import fc from "fast-check";
import { expect, it } from "vitest";
import { FrameReader, frameOf } from "../../src/base/frames.ts";

const ASCII = fc.string({ unit: "grapheme-ascii" });

it("come out as they went in, however the stream cuts them", () => {
  const frame = fc.record({ text: fc.json(), lines: fc.array(ASCII, { maxLength: 4 }) });
  const cuts = fc.array(fc.nat(300), { maxLength: 20 });
  fc.assert(
    fc.property(fc.array(frame, { maxLength: 6 }), cuts, (frames, at) => {
      const stream = Buffer.concat(frames.map(({ text, lines }) => frameOf(text, lines)));
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
