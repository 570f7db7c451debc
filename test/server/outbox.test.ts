import { Writable } from "node:stream";
import type { TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import { SendBudget } from "../../src/server/connection-limits.ts";
import { Outbox, type OutboxOptions } from "../../src/server/outbox.ts";
import type { Response } from "../../src/wire/message.ts";

const MEBIBYTE = 1024 * 1024;

/** A socket whose peer takes one write whenever the test says so. */
class Peer extends Writable {
  readonly taken: Buffer[] = [];
  #next: (() => void) | undefined;

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.taken.push(chunk);
    this.#next = done;
  }

  /** Resolves when what was written is taken, and what follows from it is done. */
  async take(): Promise<void> {
    this.#next?.();
    await new Promise((resolve) => setImmediate(resolve));
  }

  get text(): string {
    return Buffer.concat(this.taken).toString("latin1");
  }
}

/** Tells an outbox of its socket, as a connection does. */
function outboxOf(peer: Peer, options: OutboxOptions): Outbox {
  const outbox = new Outbox(peer as unknown as TLSSocket, options);
  peer.on("drain", () => outbox.drained());
  peer.on("close", () => outbox.closed());
  return outbox;
}

function createOutbox(sendBufferBytes = 16 * MEBIBYTE) {
  const peer = new Peer();
  const limits = { sendBufferTotalBytes: 256 * MEBIBYTE, idleTimeoutMs: 60_000 };
  const budget = new SendBudget(limits);
  const account = budget.open(() => peer.destroy());
  const outbox = outboxOf(peer, { account, sendBufferBytes });
  const send = (body: string | Uint8Array): void => {
    const response: Response = { status: 200, responseId: "", fields: "", body };
    outbox.add(response);
    outbox.flush(outbox.takeBatch());
  };
  return { peer, budget, account, outbox, send };
}

describe("Outbox", () => {
  it("sends a long body in pieces that are views of it, each when the one before is taken", async () => {
    const { peer, outbox, send, budget } = createOutbox();
    const body = new Uint8Array(MEBIBYTE).fill(120);
    send(body);
    expect(outbox.isWritten).toBe(false);
    expect(peer.writableLength).toBeLessThan(128 * 1024);
    expect(budget.bytes).toBeGreaterThanOrEqual(body.length);
    while (!outbox.isWritten) await peer.take();
    await peer.take();
    const views = peer.taken.filter(({ buffer }) => buffer === body.buffer);
    expect(views.reduce((sum, { length }) => sum + length, 0)).toBe(body.length);
    expect(peer.text.endsWith(`\r\n\r\n${"x".repeat(body.length)}`)).toBe(true);
    expect(budget.bytes).toBe(0);
  });

  it("lets a buffer serve again only when what was in it is taken", async () => {
    const waiting = createOutbox();
    const letters = ["a", "b", "c"].map((letter) => letter.repeat(20 * 1024));
    const held = letters.map((body) => {
      const one = createOutbox();
      one.send(body);
      return one.peer;
    });
    // What its peer has not taken yet is there as it was sent, whatever others send meanwhile.
    for (const [at, peer] of held.entries())
      expect(peer.text.endsWith(letters[at] ?? "-")).toBe(true);
    for (const peer of held) await peer.take();
    for (const body of letters) {
      waiting.send(body);
      expect(waiting.peer.text.endsWith(body)).toBe(true);
      await waiting.peer.take();
      waiting.peer.taken.length = 0;
    }
  });

  it("counts a body that waits for many peers once", () => {
    const body = new Uint8Array(MEBIBYTE);
    const limits = { sendBufferTotalBytes: 4 * MEBIBYTE, idleTimeoutMs: 60_000 };
    const budget = new SendBudget(limits);
    const peers = Array.from({ length: 20 }, () => {
      const peer = new Peer();
      const account = budget.open(() => peer.destroy());
      const outbox = outboxOf(peer, { account, sendBufferBytes: MEBIBYTE });
      outbox.add({ status: 200, responseId: "", fields: "", body });
      outbox.flush(outbox.takeBatch());
      return peer;
    });
    expect(budget.bytes).toBeLessThan(4 * MEBIBYTE);
    expect(peers.some(({ destroyed }) => destroyed)).toBe(false);
  });

  it("keeps the order of short and long replies, text and octets", async () => {
    const { peer, outbox, send } = createOutbox();
    const bodies = ["a", "b".repeat(200_000), "é".repeat(100_000), "c", "d".repeat(70_000), "e"];
    for (const body of bodies) send(body);
    while (!outbox.isWritten) await peer.take();
    await peer.take();
    const sent = Buffer.concat(peer.taken).toString("utf8");
    const received = sent.split(/AGTP\/1\.0 200 OK\r\nContent-Length: \d+\r\n\r\n/);
    expect(received).toEqual(["", ...bodies]);
  });

  it("is blocked by what is not taken, and free again when it is", async () => {
    const { peer, outbox, send } = createOutbox(MEBIBYTE);
    expect(outbox.isBlocked).toBe(false);
    send("x".repeat(MEBIBYTE));
    expect(outbox.isBlocked).toBe(true);
    while (!outbox.isWritten) await peer.take();
    await peer.take();
    expect(outbox.isBlocked).toBe(false);
  });

  it("counts every piece that is taken as a sign of life", async () => {
    const { peer, account, send } = createOutbox();
    send("x".repeat(MEBIBYTE));
    const began = account.takenAt ?? Number.NaN;
    await peer.take();
    await peer.take();
    expect(account.takenAt).toBeGreaterThan(began);
  });

  it("leaves nothing in the account when the connection closes", async () => {
    const { peer, budget, outbox, send } = createOutbox();
    send("x".repeat(MEBIBYTE));
    send(new Uint8Array(MEBIBYTE));
    peer.destroy();
    await new Promise((resolve) => setImmediate(resolve));
    expect(budget.bytes).toBe(0);
    outbox.add({ status: 200, responseId: "", fields: "", body: new Uint8Array(MEBIBYTE) });
    expect(budget.bytes).toBe(0);
  });
});
