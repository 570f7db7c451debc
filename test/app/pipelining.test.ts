import { setImmediate as turn } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { openDaemon } from "../support/daemon.ts";
import { endpointFile } from "../support/deployment.ts";
import type { TestReply } from "../support/dispatch.ts";
import { countTurns } from "../support/event-loop.ts";
import { bus, call, echo, heard, serverFiles } from "../support/server-deployment.ts";

function numbers(replies: readonly TestReply[]): readonly unknown[] {
  return replies.map(({ body }) => body["number"]);
}

function range(length: number): readonly number[] {
  return Array.from({ length }, (_, index) => index);
}

/** `QUERY /laters`: answered a turn of the event loop later. */
function later(number: number): Buffer {
  return call("QUERY", "/laters", { number });
}

/** `QUERY /soons`: the handler is asynchronous, and done at once. */
function soon(number: number): Buffer {
  return call("QUERY", "/soons", { number });
}

// AGTP "Connection Lifetime"
describe("a connection", () => {
  it("stays open from one request to the next", async () => {
    const { connect } = await openDaemon(serverFiles());
    const client = await connect();
    for (const number of range(20)) {
      client.write(echo(number));
      const replies = await client.replies(number + 1);
      expect(replies.at(-1)?.body["number"]).toBe(number);
    }
  });

  it("answers pipelined requests in order, quick ones behind slow ones", async () => {
    const { connect } = await openDaemon(serverFiles());
    const client = await connect();
    const started = heard("started", "first");
    client.write(
      Buffer.concat([
        ...[echo(0), call("EXECUTE", "/gates", { id: "first" }), echo(2), later(3), echo(4)],
        ...[call("QUERY", "/nothing"), later(6)],
      ]),
    );
    await started;
    expect(numbers(await client.replies(1))).toEqual([0]);
    bus.emit("release first");
    const replies = await client.replies(7);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 404, 200]);
    expect(numbers(replies)).toEqual([0, undefined, 2, 3, 4, undefined, 6]);
  });

  it("opens with the methods of the server, and does not repeat them", async () => {
    const { connect } = await openDaemon(serverFiles());
    for (const _ of range(2)) {
      const client = await connect();
      client.write(Buffer.concat([call("QUERY", "/nothing"), echo(1)]));
      const [first, second] = await client.replies(2);
      const methods = first?.headers.get("supported-methods")?.split(", ") ?? [];
      expect(methods).toEqual(expect.arrayContaining(["QUERY", "DISCOVER", "NOTIFY", "EXECUTE"]));
      expect(new Set(methods).size).toBe(methods.length);
      expect(second?.headers.get("supported-methods")).toBeUndefined();
    }
  });

  it("begins a request only when the one before it is answered", async () => {
    const { connect } = await openDaemon(serverFiles());
    const client = await connect();
    const started: string[] = [];
    for (const id of ["one", "two"]) bus.once(`started ${id}`, () => started.push(id));
    const first = heard("started", "one");
    const second = heard("started", "two");
    client.write(
      Buffer.concat([
        call("EXECUTE", "/gates", { id: "one" }),
        call("EXECUTE", "/gates", { id: "two" }),
      ]),
    );
    await first;
    const other = await connect();
    other.write(echo(1));
    await other.replies(1);
    expect(started).toEqual(["one"]);
    bus.emit("release one");
    await second;
    bus.emit("release two");
    expect(await client.replies(2)).toHaveLength(2);
  });

  it("has its turn of the event loop and no more, however much one connection asks for", async () => {
    const burn = `
      export const burn = ({ input }) => {
        const started = performance.now();
        while (performance.now() - started < 6);
        globalThis[Symbol.for("agtpd.test.bus")].emit("burnt");
        return { body: input };
      };
    `;
    const endpoint = endpointFile({
      ...{ method: "QUERY", path: "/burns", properties: { number: { type: "integer" } } },
      handler: { type: "registered_function", function: "burning.burn" },
    });
    const { connect } = await openDaemon(
      serverFiles({}, { "burning.mjs": burn, "endpoints/burns.toml": endpoint }),
    );
    const client = await connect();
    const rounds: number[] = [];
    const loop = countTurns();
    const note = (): void => void rounds.push(loop.turns);
    bus.on("burnt", note);
    client.write(Buffer.concat(range(10).map((number) => call("QUERY", "/burns", { number }))));
    expect(numbers(await client.replies(10))).toEqual(range(10));
    bus.off("burnt", note);
    loop.stop();
    expect(new Set(rounds).size).toBe(10);
  });

  it.each([1, 4, 64])("loses nothing of 600 requests in one write, %i in progress", async (max) => {
    const { connect } = await openDaemon(serverFiles({ limits: { max_pipelined: max } }));
    const client = await connect();
    client.write(Buffer.concat(range(600).map((number) => (number % 3 ? echo : later)(number))));
    expect(numbers(await client.replies(600))).toEqual(range(600));
  });

  it("loses nothing of what arrives octet by octet", async () => {
    const { connect } = await openDaemon(serverFiles({ limits: { max_pipelined: 2 } }));
    const client = await connect();
    const bytes = Buffer.concat(range(12).map((number) => (number % 2 ? echo : later)(number)));
    for (const octet of bytes) client.write(Buffer.of(octet));
    expect(numbers(await client.replies(12))).toEqual(range(12));
  });

  it("is not read while as many requests as allowed are in progress", async () => {
    const limits = { max_pipelined: 4, header_timeout_ms: 400 };
    const { connect } = await openDaemon(serverFiles({ limits }));
    const client = await connect();
    const started = heard("started", "slow");
    client.write(call("EXECUTE", "/gates", { id: "slow" }));
    await started;
    // More than all the buffers between here and there hold.
    const text = "x".repeat(2_000);
    const flood = Buffer.concat(range(40).map(() => call("QUERY", "/echoes", { text })));
    let isTaken = true;
    let sent = 0;
    while (isTaken && sent < 1_000) {
      isTaken = await new Promise((resolve) => {
        client.socket.write(flood, () => resolve(true));
        blocked(client.socket).then(() => resolve(false));
      });
      sent += 1;
    }
    expect(isTaken).toBe(false);
    bus.emit("release slow");
    const replies = await client.replies(1 + sent * 40);
    expect(replies).toHaveLength(1 + sent * 40);
    expect(replies.every(({ status }) => status === 200)).toBe(true);
  });

  it("answers pipelined requests in few writes", async () => {
    const { connect } = await openDaemon(serverFiles());
    const client = await connect();
    let pieces = 0;
    // One TLS record, of at most 16 KiB, is one piece: 64 writes would be 64 of them.
    client.socket.on("data", () => {
      pieces += 1;
    });
    const batch = Buffer.concat(range(64).map((number) => (number % 2 ? echo : soon)(number)));
    const counts: number[] = [];
    // A busy machine takes the processor away in the middle of a turn, and not of every one.
    for (const round of range(5)) {
      pieces = 0;
      client.write(batch);
      await client.replies(64 * (round + 1));
      counts.push(pieces);
    }
    expect(Math.min(...counts)).toBeLessThanOrEqual(8);
  });
});

/** Resolves when a write has made no progress for some turns that another connection took. */
async function blocked(socket: { readonly writableLength: number }): Promise<void> {
  const before = socket.writableLength;
  for (let turns = 0; turns < 2_000; turns += 1) {
    await turn();
    if (socket.writableLength !== before) turns = 0;
    if (socket.writableLength === 0) return;
  }
}

describe("a peer that does not read", () => {
  it("is answered no further than the buffers between hold", async () => {
    const { connect, log } = await openDaemon(serverFiles());
    const client = await connect();
    client.socket.pause();
    const size = 512 * 1024;
    const before = process.memoryUsage();
    client.write(Buffer.concat(range(1_000).map(() => call("QUERY", "/blobs", { size }))));
    const other = await connect();
    for (const number of range(200)) {
      other.write(echo(number));
      await other.replies(number + 1);
    }
    const answered = log.filter(({ path }) => path === "/blobs").length;
    const after = process.memoryUsage();
    expect(answered).toBeGreaterThan(0);
    expect(answered).toBeLessThan(40);
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(32 * 1024 * 1024);
    client.destroy();
  });

  it("gets everything once it reads", async () => {
    const { connect } = await openDaemon(serverFiles({ limits: { max_pipelined: 4 } }));
    const client = await connect();
    client.socket.pause();
    const size = 256 * 1024;
    client.write(Buffer.concat(range(40).map(() => call("QUERY", "/blobs", { size }))));
    const other = await connect();
    other.write(echo(1));
    await other.replies(1);
    client.socket.resume();
    const replies = await client.replies(40);
    expect(replies.map(({ text }) => text.length)).toEqual(range(40).map(() => size + 11));
  });
});
