import { PassThrough } from "node:stream";
import type { TLSSocket } from "node:tls";
import { describe, expect, it } from "vitest";
import { Inbox } from "../../src/server/inbox.ts";
import type { LimitsConfig } from "../../src/wire/limits-section.ts";
import { serializeRequest } from "../../src/wire/message.ts";

const LIMITS = {
  ...{ requestLineBytes: 1_000, headerBytes: 1_000, headerCount: 8, bodyBytes: 100_000 },
  maxPipelined: 64,
} as LimitsConfig;

function openInbox(): Inbox {
  return new Inbox(new PassThrough() as unknown as TLSSocket, LIMITS);
}

function request(octets: number): Buffer {
  const body = Buffer.alloc(octets, "x");
  return serializeRequest({ method: "BOOK", path: "/rooms", headers: [], body });
}

// `[limits]` max_pipelined, body_bytes
describe("an inbox", () => {
  it("is full with as many requests as may be in progress", () => {
    const inbox = openInbox();
    inbox.push(Buffer.concat(new Array<Buffer>(63).fill(request(0))));
    expect(inbox.isFull).toBe(false);
    inbox.push(request(0));
    expect(inbox.isFull).toBe(true);
    inbox.take();
    expect(inbox.isFull).toBe(true);
    inbox.answered();
    expect(inbox.isFull).toBe(false);
  });

  it("is full once the bodies that wait are as long as one may be", () => {
    const inbox = openInbox();
    inbox.push(request(40_000));
    inbox.take();
    inbox.push(request(60_000));
    inbox.push(request(39_999));
    expect(inbox.isFull).toBe(false);
    inbox.push(request(1));
    expect(inbox.isFull).toBe(true);
    inbox.answered();
    inbox.take();
    expect(inbox.isFull).toBe(false);
  });

  it("takes short bodies however short they have to be", () => {
    const limits = { ...LIMITS, bodyBytes: 10 };
    const inbox = new Inbox(new PassThrough() as unknown as TLSSocket, limits);
    inbox.push(Buffer.concat(new Array<Buffer>(32).fill(request(10))));
    expect(inbox.isFull).toBe(false);
  });

  it("takes a body of the longest kind after another, one at a time", () => {
    const inbox = openInbox();
    for (let turn = 0; turn < 300; turn += 1) {
      inbox.push(request(100_000));
      expect(inbox.isFull).toBe(true);
      expect(inbox.take()).toHaveProperty("body.length", 100_000);
      inbox.answered();
      expect(inbox.isFull).toBe(false);
    }
  });
});
