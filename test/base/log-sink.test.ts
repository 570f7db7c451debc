import { Writable } from "node:stream";
import { describe, expect, it } from "vitest";
import { openStdout } from "../../src/base/log.ts";

/** A stream whose reader takes what it is given, when it takes it. */
function createStream(take: (text: string, done: (error?: Error) => void) => void): Writable {
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => take(chunk.toString(), done),
  });
}

describe("the log on standard output", () => {
  it("collects lines, and writes all of them in order", async () => {
    const written: string[] = [];
    const sink = openStdout(
      createStream((text, done) => {
        written.push(text);
        done();
      }),
    );
    const lines = Array.from({ length: 1_000 }, (_, index) => `{"index":${index}}\n`);
    for (const line of lines) sink.write(line);
    await sink.flush();
    expect(written.join("")).toBe(lines.join(""));
    expect(written.length).toBeLessThan(10);
  });

  it("keeps lines whole and in order, whatever they are made of and however long they are", async () => {
    let written = "";
    const sink = openStdout(
      createStream((text, done) => {
        written += text;
        done();
      }),
    );
    const lines = Array.from({ length: 400 }, (_, index) =>
      index % 150 === 149 ? `${"\u2603".repeat(70_000)}\n` : `${"grüezi ☃ 𝄞 ".repeat(index)}\n`,
    );
    for (const line of lines) sink.write(line);
    await sink.flush();
    expect(written === lines.join("")).toBe(true);
  });

  it("writes what was collected without being told to", async () => {
    const first = await new Promise((resolve) => {
      openStdout(createStream(resolve)).write("line\n");
    });
    expect(first).toBe("line\n");
  });

  it("drops lines rather than hold them for a reader that stalls", async () => {
    const stream = createStream(() => undefined);
    const sink = openStdout(stream);
    const line = `${"x".repeat(1_023)}\n`;
    for (let count = 0; count < 40 * 1024; count += 1) sink.write(line);
    expect(stream.writableLength).toBeGreaterThan(15 * 1024 * 1024);
    expect(stream.writableLength).toBeLessThan(17 * 1024 * 1024);
    await sink.flush();
  });

  it("outlives its reader", async () => {
    const sink = openStdout(createStream((_, done) => done(new Error("EPIPE"))));
    for (let count = 0; count < 3; count += 1) {
      sink.write("line\n");
      await sink.flush();
    }
  });

  it("outlives a full disk", async () => {
    const sink = openStdout(
      createStream(() => {
        throw new Error("ENOSPC");
      }),
    );
    sink.write("line\n");
    await sink.flush();
  });
});
