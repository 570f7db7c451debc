import { stat } from "node:fs";
import { connect as connectTcp } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { clientHello } from "../support/client-hello.ts";
import { closeOf, openDaemon, type RawClient } from "../support/daemon.ts";
import { bus, call, echo, heard, serverFiles } from "../support/server-deployment.ts";

const SHORT_MS = 400;
/** For what is not to be late, however busy the machine. */
const LONGER_MS = 2_000;

/** Writes octet after octet, for as long as the peer keeps the connection. */
async function trickle(socket: RawClient["socket"], bytes: Buffer): Promise<void> {
  let isOver = false;
  socket.once("close", () => {
    isOver = true;
  });
  for (let at = 0; !isOver; at += 1) {
    const octet = bytes.subarray(at % bytes.length, (at % bytes.length) + 1);
    await new Promise((resolve) => socket.write(octet, resolve));
    // Each octet is a record of TLS: as many as a fast machine can write are a flood, which has its own bound.
    await delay(1);
  }
}

/** Keeps the process busy. */
function spin(durationMs: number): void {
  for (const until = performance.now() + durationMs; performance.now() < until; );
}

/** A client that has begun a second request; the rest of it is still to be written. */
async function openHalfAsked() {
  const { connect } = await openDaemon(serverFiles({ limits: { header_timeout_ms: SHORT_MS } }));
  const client = await connect();
  const bytes = echo(1);
  client.write(Buffer.concat([echo(0), bytes.subarray(0, 10)]));
  await client.replies(1);
  return { client, rest: bytes.subarray(10) };
}

/** How long something took, in milliseconds. */
async function elapsed(work: Promise<unknown>): Promise<number> {
  const begun = performance.now();
  await work;
  return performance.now() - begun;
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

// `[limits]`; AGTP "Connection Lifetime"
describe("the header deadline", () => {
  it.each(["AGTP/1.0 DISC", "AGTP/1.0 DISCOVER /\r\n", "AGTP/1.0 DISCOVER /\r\nAgent-ID: a\r\n"])(
    "answers a head that stops at %j with 400, then closes",
    async (bytes) => {
      const { connect } = await openDaemon(
        serverFiles({ limits: { header_timeout_ms: SHORT_MS } }),
      );
      const client = await connect();
      client.write(bytes);
      const [reply] = await client.closed();
      expect(reply?.status).toBe(400);
      expect(reply?.body["error"]?.["code"]).toBe("request-timeout");
    },
  );

  it("is not moved by octets that keep coming", async () => {
    const { connect } = await openDaemon(
      serverFiles({ limits: { header_timeout_ms: SHORT_MS, header_bytes: 1_000_000 } }),
    );
    const client = await connect();
    client.write("AGTP/1.0 DISCOVER /\r\nX-Slow: ");
    await trickle(client.socket, Buffer.from("x"));
    const [reply] = await client.closed();
    expect(reply?.body["error"]?.["code"]).toBe("request-timeout");
  });

  it("begins anew with each request", async () => {
    const { connect } = await openDaemon(serverFiles({ limits: { header_timeout_ms: LONGER_MS } }));
    const client = await connect();
    const begun = performance.now();
    const bytes = echo(1);
    let count = 0;
    // Every write ends one request and begins the next.
    client.write(bytes.subarray(0, 10));
    while (performance.now() - begun < 1.5 * LONGER_MS) {
      client.write(Buffer.concat([bytes.subarray(10), bytes.subarray(0, 10)]));
      count += 1;
      const replies = await client.replies(count);
      expect(replies.at(-1)?.status).toBe(200);
    }
    await client.closed();
  });

  it("does not end what arrived while the process was busy", async () => {
    const { client, rest } = await openHalfAsked();
    client.write(rest);
    spin(2 * SHORT_MS);
    const replies = await client.replies(2);
    expect(replies.at(-1)?.status).toBe(200);
  });

  it("does not end what arrives while a look at the deadlines waits for a busy turn", async () => {
    const { client, rest } = await openHalfAsked();
    // Called in the turn in which the look is due: behind its timer, and before its end.
    const isBusy = new Promise<void>((resolve) => {
      stat(".", () => {
        client.write(rest);
        spin(2 * SHORT_MS);
        resolve();
      });
    });
    spin(SHORT_MS / 2);
    await isBusy;
    const replies = await client.replies(2);
    expect(replies.at(-1)?.status).toBe(200);
  });

  it("does not run while the daemon itself does not read", async () => {
    const limits = { header_timeout_ms: 500, body_timeout_ms: 100, max_pipelined: 1 };
    const { connect } = await openDaemon(serverFiles({ limits }));
    const client = await connect();
    const started = heard("started", "held");
    const next = echo(2);
    client.write(Buffer.concat([call("EXECUTE", "/gates", { id: "held" }), next.subarray(0, 12)]));
    await started;
    const other = await connect();
    other.write("AGTP/1.0 ");
    // The other connection's deadline is over: so would this one's be.
    await other.closed();
    bus.emit("release held");
    await client.replies(1);
    const late = await connect();
    late.write("AGTP/1.0 QUERY /echoes\r\nContent-Length: 1\r\n\r\n");
    // The deadlines have been looked at since.
    await late.closed();
    client.write(next.subarray(12));
    const replies = await client.replies(2);
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
  });

  it("answers the requests before the late one first", async () => {
    const { connect } = await openDaemon(serverFiles({ limits: { header_timeout_ms: SHORT_MS } }));
    const client = await connect();
    const started = heard("started", "before");
    client.write(
      Buffer.concat([
        call("EXECUTE", "/gates", { id: "before" }),
        echo(1),
        Buffer.from("AGTP/1.0 QUERY"),
      ]),
    );
    await started;
    const other = await connect();
    other.write("AGTP/1.0 ");
    await other.closed();
    bus.emit("release before");
    const replies = await client.closed();
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 400]);
  });
});

describe("the body deadline", () => {
  it("answers a body that does not come with 400, then closes", async () => {
    const limits = { header_timeout_ms: 5_000, body_timeout_ms: SHORT_MS };
    const { connect } = await openDaemon(serverFiles({ limits }));
    const client = await connect();
    client.write("AGTP/1.0 QUERY /echoes\r\nContent-Length: 10\r\n\r\n{");
    const [reply] = await client.closed();
    expect(reply?.status).toBe(400);
    expect(reply?.body["error"]?.["code"]).toBe("request-timeout");
  });

  it("is not moved by octets that keep coming", async () => {
    const { connect } = await openDaemon(serverFiles({ limits: { body_timeout_ms: SHORT_MS } }));
    const client = await connect();
    client.write("AGTP/1.0 QUERY /echoes\r\nContent-Length: 1000000\r\n\r\n");
    await trickle(client.socket, Buffer.from("x"));
    const [reply] = await client.closed();
    expect(reply?.body["error"]?.["code"]).toBe("request-timeout");
  });
});

describe("the idle deadline", () => {
  it("closes without a word", async () => {
    const { connect, log } = await openDaemon(
      serverFiles({ limits: { idle_timeout_ms: SHORT_MS } }),
    );
    const fresh = await connect();
    const used = await connect();
    used.write(echo(1));
    expect(await used.closed()).toHaveLength(1);
    expect(await fresh.closed()).toHaveLength(0);
    expect(log.filter(({ event }) => event === "request")).toHaveLength(1);
  });

  it("does not run while a handler does", async () => {
    const { connect } = await openDaemon(serverFiles({ limits: { idle_timeout_ms: SHORT_MS } }));
    const client = await connect();
    const started = heard("started", "busy");
    client.write(call("EXECUTE", "/gates", { id: "busy" }));
    await started;
    await (await connect()).closed();
    bus.emit("release busy");
    const replies = await client.closed();
    expect(replies.map(({ status }) => status)).toEqual([200]);
  });

  it("ends a peer that does not take its replies", async () => {
    const { connect } = await openDaemon(serverFiles({ limits: { idle_timeout_ms: SHORT_MS } }));
    const client = await connect();
    client.socket.pause();
    const big = call("QUERY", "/blobs", { size: 1_000_000 });
    client.write(Buffer.concat(Array.from({ length: 50 }, () => big)));
    // A connection that says nothing is ended in the same time; the second begins to wait behind it.
    await (await connect()).closed();
    await (await connect()).closed();
    client.socket.resume();
    expect((await client.closed()).length).toBeLessThan(50);
  });
});

describe("the handler deadline", () => {
  it("answers 500 with an error id that the log has, and aborts the signal", async () => {
    const { connect, log } = await openDaemon(
      serverFiles({ limits: { handler_timeout_ms: SHORT_MS } }),
    );
    const client = await connect();
    const aborted = heard("aborted", "slow");
    client.write(Buffer.concat([call("EXECUTE", "/gates", { id: "slow" }), echo(2)]));
    expect(await aborted).toBe("the handler did not answer in time");
    const [late, next] = await client.replies(2);
    expect(late?.status).toBe(500);
    expect(late?.body["error"]?.["code"]).toBe("handler-timeout");
    expect(next?.status).toBe(200);
    const fault = log.find(({ event }) => event === "fault");
    expect(fault?.["error_id"]).toMatch(UUID);
    expect(late?.text).toContain(fault?.["error_id"]);
    // Its answer comes too late, and nobody else gets it.
    bus.emit("release slow");
    client.write(echo(3));
    expect((await client.replies(3)).at(-1)?.body["number"]).toBe(3);
  });

  it("logs one fault for a handler that gives up when it is told to", async () => {
    const { connect, log } = await openDaemon(
      serverFiles({ limits: { handler_timeout_ms: SHORT_MS } }),
    );
    const client = await connect();
    client.write(call("EXECUTE", "/gates", { id: "obedient", obeys: true }));
    await client.replies(1);
    client.write(echo(1));
    await client.replies(2);
    expect(log.filter(({ event }) => event === "fault")).toHaveLength(1);
  });
});

describe("a handshake", () => {
  it.each([
    ["never begins", Buffer.alloc(0)],
    ["stops in the middle", clientHello().subarray(0, 40)],
    ["stops after the first flight", clientHello()],
  ])("that %s is ended at the header deadline", async (_, bytes) => {
    const { daemon, connect } = await openDaemon(
      serverFiles({ limits: { header_timeout_ms: SHORT_MS } }),
    );
    const socket = connectTcp({ host: "127.0.0.1", port: daemon.port });
    socket.resume();
    socket.write(bytes);
    expect(await elapsed(closeOf(socket))).toBeGreaterThan(SHORT_MS / 2);
    expect(await (await connect()).replies(0)).toEqual([]);
  });

  it.each([
    ["before it begins", Buffer.alloc(0)],
    ["in the middle", clientHello().subarray(0, 40)],
    ["after the first flight", clientHello()],
  ])("that the peer ends %s is over at once", async (_, bytes) => {
    const { daemon } = await openDaemon(serverFiles());
    const socket = connectTcp({ host: "127.0.0.1", port: daemon.port });
    socket.resume();
    socket.end(bytes);
    expect(await elapsed(closeOf(socket))).toBeLessThan(5_000);
  });

  it("that comes octet by octet is ended at the header deadline", async () => {
    const { daemon } = await openDaemon(serverFiles({ limits: { header_timeout_ms: SHORT_MS } }));
    const socket = connectTcp({ host: "127.0.0.1", port: daemon.port });
    socket.resume();
    const closed = closeOf(socket);
    // A record of 16 KiB that never comes to its end.
    socket.write(Buffer.from([0x16, 3, 1, 0x3f, 0xff, 1, 0, 0x3f, 0xfb, 3, 3]));
    await trickle(socket as RawClient["socket"], Buffer.of(0));
    await closed;
  });
});
