import { describe, expect, it } from "vitest";
import { ReceiveBuffer } from "../../src/wire/head-scanner.ts";

describe("ReceiveBuffer", () => {
  it("holds at most about twice what arrived, in however small pieces", () => {
    const received = new ReceiveBuffer();
    let largest = 0;
    for (let count = 0; count < 100_000; count += 1) {
      received.append(Buffer.of(count & 0xff));
      if (count > 1024) largest = Math.max(largest, received.bytes.length / received.length);
    }
    expect(received.length).toBe(100_000);
    expect(largest).toBeLessThanOrEqual(2.01);
    expect(received.take(3)).toEqual(Buffer.of(0, 1, 2));
  });

  it("copies what waits a logarithmic number of times", () => {
    const received = new ReceiveBuffer();
    const buffers = new Set<Buffer>();
    for (let count = 0; count < 100_000; count += 1) {
      received.append(Buffer.of(1));
      buffers.add(received.bytes);
    }
    expect(buffers.size).toBeLessThan(12);
  });

  it("never writes over what was taken", () => {
    const received = new ReceiveBuffer();
    received.append(Buffer.from("ab"));
    received.append(Buffer.from("cd"));
    const taken = received.take(3);
    for (let count = 0; count < 2000; count += 1) received.append(Buffer.from("xyz"));
    expect(taken.toString()).toBe("abc");
  });

  it("lets go of the chunk that the beginning of a message came in", () => {
    const received = new ReceiveBuffer();
    received.append(Buffer.from("x".repeat(60_000)));
    received.take(59_990);
    received.detach();
    expect(received.bytes.buffer.byteLength).toBeLessThanOrEqual(1024);
    expect(received.take(10).toString()).toBe("x".repeat(10));
  });

  it("lets go of the buffer that a message grew in, when the beginning of another is all that waits", () => {
    const received = new ReceiveBuffer();
    for (let count = 0; count < 3; count += 1) received.append(Buffer.from("x".repeat(20_000)));
    received.take(59_990);
    received.detach();
    expect(received.bytes.buffer.byteLength).toBeLessThanOrEqual(1024);
    received.append(Buffer.from("y"));
    expect(received.take(11).toString()).toBe(`${"x".repeat(10)}y`);
  });

  it("does not copy what fills its chunk", () => {
    const received = new ReceiveBuffer();
    const chunk = Buffer.alloc(60_000);
    received.append(chunk);
    received.detach();
    expect(received.bytes).toBe(chunk);
  });

  it("lets go of its memory once everything was taken", () => {
    const received = new ReceiveBuffer();
    received.append(Buffer.alloc(5000));
    received.append(Buffer.alloc(5000));
    received.take(10_000);
    expect(received.bytes).toHaveLength(0);
  });
});
