/** Two ends of a link over a stream that delivers in whatever pieces. */

import { Duplex, duplexPair } from "node:stream";
import fc from "fast-check";
import { expect, it } from "vitest";
import { type FaultCodec, FrameReader, frameOf, Link, MAX_FRAME } from "../../src/base/link.ts";
import { cargoOf } from "../support/cargo.ts";

const CODEC: FaultCodec = {
  encode: (error) => String(error),
  decode: (fault) => new Error(`there: ${String(fault)}`),
};

class End extends Duplex {
  other: End | undefined;

  override _read(): void {
    // Pushed when the other end writes.
  }

  /** In pieces of one octet, as the worst of streams would. */
  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    for (const octet of chunk) this.other?.push(Buffer.of(octet));
    done();
  }

  override _final(done: () => void): void {
    this.other?.push(null);
    done();
  }
}

function makeLinks(): readonly [Link, Link, End] {
  const [left, right] = [new End(), new End()];
  left.other = right;
  right.other = left;
  return [new Link(left, CODEC), new Link(right, CODEC), right];
}

it("answers questions, each with its own answer", async () => {
  const [left, right] = makeLinks();
  right.serve({
    double: (text: string) => `${text}${text}`,
    later: async (text: string) => {
      await new Promise((resolve) => setImmediate(resolve));
      return text;
    },
  });
  const asked = [left.ask("later", "ä\n"), left.ask("double", "b"), left.ask("later")];
  expect(await Promise.all(asked)).toEqual(["ä\n", "bb", undefined]);
});

it("carries octets beside a question, which it does not look at", async () => {
  const [left, right] = makeLinks();
  right.serve({ take: (body: unknown, octets: Buffer) => [body, octets.toString("latin1")] });
  const asked = [left.ask("take", { a: 1 }, cargoOf('"x\ny\\\n')), left.ask("take")];
  expect(await Promise.all(asked)).toEqual([
    [{ a: 1 }, '"x\ny\\\n'],
    [null, ""],
  ]);
});

it("carries news both ways, in their order", async () => {
  const [left, right] = makeLinks();
  const heard: number[] = [];
  right.serve({
    news: (number: number) => {
      heard.push(number);
      left.serve({ heard: () => heard });
      return undefined;
    },
    all: () => right.ask("heard"),
  });
  for (let number = 0; number < 5; number += 1) left.tell("news", number);
  expect(await left.ask("all")).toEqual([0, 1, 2, 3, 4]);
});

it("rejects with what the other end threw, and with what nobody answers", async () => {
  const [left, right] = makeLinks();
  right.serve({
    fail: () => {
      throw new Error("no");
    },
  });
  await expect(left.ask("fail")).rejects.toThrow("there: Error: no");
  await expect(left.ask("constructor")).rejects.toThrow("nobody answers");
});

it("rejects what is asked of an end that goes, and afterwards", async () => {
  const [left, right, end] = makeLinks();
  right.serve({ never: () => new Promise(() => undefined) });
  const asked = left.ask("never");
  end.end();
  await expect(asked).rejects.toThrow("the other process is gone");
  await left.closed;
  await expect(left.ask("never")).rejects.toThrow("the other process is gone");
});

it("hears nothing of a message that its sender was killed in, at whatever octet", async () => {
  const whole = frameOf(JSON.stringify({ name: "news", body: "all" }), cargoOf("a line\n"));
  for (let cut = 0; cut <= whole.length; cut += 1) {
    const [near, far] = duplexPair();
    const link = new Link(near, CODEC);
    const heard: unknown[] = [];
    link.serve({ news: (body: unknown) => void heard.push(body) });
    const asked = link.ask("never");
    far.end(whole.subarray(0, cut));
    await expect(asked).rejects.toThrow("the other process is gone");
    await link.closed;
    expect(heard).toEqual(cut === whole.length ? ["all"] : []);
  }
});

it.each([
  ["lengths that no frame has", Buffer.alloc(8, 0xff)],
  ["a text that is no JSON", frameOf('{"name":"ne')],
  ["no message", frameOf("null")],
])("takes an end that sends %s for gone, and throws at nobody", async (_, octets) => {
  const [near, far] = duplexPair();
  const link = new Link(near, CODEC);
  const asked = link.ask("never");
  far.write(octets);
  await expect(asked).rejects.toThrow("the other process is gone");
  await link.closed;
});

it("answers with a fault where an answer cannot be said", async () => {
  const [left, right] = makeLinks();
  right.serve({ endless: () => ({ toJSON: () => "x".repeat(2 ** 30) }) });
  await expect(left.ask("endless")).rejects.toThrow("there: RangeError: Invalid string length");
});

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
