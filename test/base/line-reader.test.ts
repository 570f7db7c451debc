import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Line, LineReader, OctetLines } from "../../src/base/line-reader.ts";

function read(chunks: readonly Buffer[], maxBytes: number): readonly string[] {
  const reader = new LineReader(maxBytes);
  const lines: Line[] = chunks.flatMap((chunk) => [...reader.push(chunk)]);
  return [...lines, ...reader.end()].map((line) =>
    line.kind === "line" ? line.octets.toString("latin1") : "too long",
  );
}

describe("LineReader", () => {
  it("gives the same lines for every chunking", () => {
    const texts = fc.string({ unit: fc.constantFrom("a", "\n", "\r", "é"), maxLength: 40 });
    fc.assert(
      fc.property(texts, fc.array(fc.nat(12)), (text, sizes) => {
        const whole = Buffer.from(text);
        const chunks: Buffer[] = [];
        let start = 0;
        for (const size of sizes) {
          chunks.push(whole.subarray(start, start + size));
          start += size;
        }
        chunks.push(whole.subarray(start));
        expect(read(chunks, 8)).toEqual(read([whole], 8));
      }),
    );
  });

  it("gives what a split at line feeds gives, as long as no line is too long", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "binary-ascii", maxLength: 20 })), (lines) => {
        const clean = lines.map((line) => line.replaceAll("\n", ""));
        const text = clean.map((line) => `${line}\n`).join("");
        expect(read([Buffer.from(text, "latin1")], 20)).toEqual(clean);
      }),
    );
  });

  it("tells of a line that is too long when it becomes so, once, and reads the next", () => {
    const reader = new LineReader(4);
    expect([...reader.push(Buffer.from("1234"))]).toEqual([]);
    expect([...reader.push(Buffer.from("56"))]).toEqual([{ kind: "too-long" }]);
    expect([...reader.push(Buffer.alloc(1_000_000, "x"))]).toEqual([]);
    expect([...reader.push(Buffer.from("\nok\n"))]).toEqual([
      { kind: "line", octets: Buffer.from("ok") },
    ]);
    expect(reader.end()).toEqual([]);
  });

  it("cuts a line off when it is asked for, so that many short ones hold up nobody", () => {
    const octets = Buffer.from("1\n2\n");
    const lines = new LineReader(4).push(octets)[Symbol.iterator]();
    const line = (text: string): Line => ({ kind: "line", octets: Buffer.from(text) });
    expect(lines.next().value).toEqual(line("1"));
    octets.write("3", 2);
    expect(lines.next().value).toEqual(line("3"));
    expect(lines.next().done).toBe(true);
  });

  it("does not count a CR that is part of the end", () => {
    expect(read([Buffer.from("1234\r\nok\r\n")], 4)).toEqual(["1234", "ok\r"]);
    expect(read([Buffer.from("12345\n1234\r5\nok\n")], 4)).toEqual(["too long", "too long", "ok"]);
    expect(read([Buffer.from("12345")], 4)).toEqual(["too long"]);
  });

  it("reads a last line without an end", () => {
    expect(read([Buffer.from("a\nb")], 9)).toEqual(["a", "b"]);
    expect(read([Buffer.from("a\n")], 9)).toEqual(["a"]);
  });
});

const tooLong = () => new Error("too long");

function linesOf(pieces: readonly Buffer[], maxOctets: number): readonly string[] {
  const lines = new OctetLines(maxOctets, tooLong);
  return pieces.flatMap((piece) => [...lines.take(piece)].map((line) => line.toString("latin1")));
}

describe("OctetLines", () => {
  it("finds the same lines wherever the octets are cut", () => {
    const piece = fc.constantFrom("", "a", "\n", "bc\n", "\n\n", "def", "g\nh\ni");
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const whole = pieces.join("").split("\n").slice(0, -1);
        expect(
          linesOf(
            pieces.map((one) => Buffer.from(one)),
            1_000,
          ),
        ).toEqual(whole);
      }),
    );
  });

  it("throws for a line that is longer than it may be, once that is known", () => {
    const pieces = (...texts: readonly string[]) => texts.map((text) => Buffer.from(text));
    expect(linesOf(pieces("abcd", "\nabc"), 4)).toEqual(["abcd"]);
    expect(() => linesOf(pieces("abc", "de"), 4)).toThrow("too long");
  });
});
