import { once } from "node:events";
import { connect as connectTcp } from "node:net";
import { connect as connectTls } from "node:tls";
import { describe, expect, it } from "vitest";
import type { Daemon } from "../../src/app/daemon.ts";
import { clientHello } from "../support/client-hello.ts";
import { closeOf, openDaemon, type TestDaemon } from "../support/daemon.ts";
import { bus, call, echo, heard, serverFiles } from "../support/server-deployment.ts";

/** A TLS connection over a TCP socket that can be reset on its own. */
async function connectOverTcp({ port }: Daemon) {
  const tcp = connectTcp({ host: "127.0.0.1", port });
  await once(tcp, "connect");
  const tls = connectTls({ socket: tcp, rejectUnauthorized: false });
  tls.on("error", () => undefined);
  await once(tls, "secureConnect");
  tls.write(echo(0));
  await once(tls, "data");
  return { tcp, tls };
}

/** Connects again and again until it is let in, and stays. */
async function untilServed({ connect }: TestDaemon): Promise<number> {
  for (;;) {
    const client = await connect().catch(() => undefined);
    if (client === undefined) continue;
    client.write(echo(7));
    return (await client.replies(1))[0]?.status ?? 0;
  }
}

async function expectServing({ connect }: TestDaemon): Promise<void> {
  const client = await connect();
  client.write(echo(7));
  expect((await client.replies(1))[0]?.body["number"]).toBe(7);
}

describe("a peer that ends its side", () => {
  it("between requests is closed without a word", async () => {
    const { connect } = await openDaemon(serverFiles());
    const client = await connect();
    client.write(echo(1));
    await client.replies(1);
    client.end();
    expect(await client.closed()).toHaveLength(1);
  });

  it("gets the answers that need no waiting", async () => {
    const { connect } = await openDaemon(serverFiles());
    const client = await connect();
    client.socket.end(Buffer.concat([echo(1), echo(2), echo(3)]));
    const replies = await client.closed();
    expect(replies.map(({ body }) => body["number"])).toEqual([1, 2, 3]);
  });

  it.each(["AGTP/1.0 QU", "AGTP/1.0 QUERY /echoes\r\nContent-Length: 5\r\n\r\n{}"])(
    "within a request gets a 400: %j",
    async (bytes) => {
      const { connect } = await openDaemon(serverFiles());
      const client = await connect();
      client.write(echo(1));
      client.write(bytes);
      client.end();
      const replies = await client.closed();
      expect(replies.map(({ status }) => status)).toEqual([200, 400]);
      expect(replies[1]?.body["error"]?.["code"]).toBe("invalid-framing");
    },
  );

  it("gets the answers that it is slow to read", async () => {
    const { connect } = await openDaemon(serverFiles({ limits: { max_pipelined: 2 } }));
    const client = await connect();
    client.socket.pause();
    const blob = call("QUERY", "/blobs", { size: 1_000_000 });
    client.socket.end(Buffer.concat([blob, blob, blob, blob, blob, blob]));
    const other = await connect();
    other.socket.end(echo(1));
    await other.closed();
    client.socket.resume();
    const replies = await client.closed();
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
  });

  it("aborts the handler that runs, and what was pipelined behind it never starts", async () => {
    const { connect, log } = await openDaemon(serverFiles());
    const client = await connect();
    const started = heard("started", "left");
    const aborted = heard("aborted", "left");
    client.write(
      Buffer.concat([call("EXECUTE", "/gates", { id: "left", obeys: true }), echo(2), echo(3)]),
    );
    await started;
    client.end();
    expect(await aborted).toBe("the caller left");
    await client.closed();
    expect(log.filter(({ path }) => path === "/echoes")).toEqual([]);
  });

  it("is noticed behind bytes that cannot be framed", async () => {
    const { connect } = await openDaemon(serverFiles({ limits: { max_pipelined: 2 } }));
    const client = await connect();
    const started = heard("started", "behind");
    client.write(
      Buffer.concat([
        call("EXECUTE", "/gates", { id: "behind", obeys: true }),
        Buffer.from("oops\n"),
      ]),
    );
    await started;
    const aborted = heard("aborted", "behind");
    client.end();
    expect(await aborted).toBe("the caller left");
  });

  it("does not make a complete request behind a running one a truncated one", async () => {
    const { connect, log } = await openDaemon(serverFiles({ limits: { max_pipelined: 1 } }));
    const client = await connect();
    const started = heard("started", "full");
    client.write(Buffer.concat([call("EXECUTE", "/gates", { id: "full", obeys: true }), echo(2)]));
    await started;
    client.end();
    // While nothing is read the end is not seen: the handler settles first.
    bus.emit("release full");
    const replies = await client.closed();
    expect(replies.every(({ status }) => status === 200)).toBe(true);
    expect(log.filter(({ code }) => code === "invalid-framing")).toEqual([]);
  });
});

describe("a reset", () => {
  it("in the middle of a handshake harms nobody", async () => {
    const server = await openDaemon(serverFiles());
    const tcp = connectTcp({ host: "127.0.0.1", port: server.daemon.port });
    tcp.write(clientHello());
    // The server's first flight is on its way.
    await once(tcp, "data");
    tcp.resetAndDestroy();
    await closeOf(tcp);
    await expectServing(server);
  });

  it("in the middle of a request harms nobody", async () => {
    const server = await openDaemon(serverFiles());
    const { tcp, tls } = await connectOverTcp(server.daemon);
    await new Promise((resolve) => tls.write("AGTP/1.0 QUERY /ech", resolve));
    tcp.resetAndDestroy();
    await expectServing(server);
  });

  it("while a handler runs aborts its signal, and its answer goes nowhere", async () => {
    const server = await openDaemon(serverFiles());
    const { tcp, tls } = await connectOverTcp(server.daemon);
    const started = heard("started", "reset");
    tls.write(Buffer.concat([call("EXECUTE", "/gates", { id: "reset" }), echo(1)]));
    await started;
    const aborted = heard("aborted", "reset");
    tcp.resetAndDestroy();
    expect(await aborted).toBe("the caller left");
    bus.emit("release reset");
    await expectServing(server);
    expect(server.log.filter(({ event }) => event === "fault")).toEqual([]);
  });

  it("in the middle of a response harms nobody", async () => {
    const server = await openDaemon(serverFiles());
    const { tcp, tls } = await connectOverTcp(server.daemon);
    const blob = call("QUERY", "/blobs", { size: 4_000_000 });
    tls.write(Buffer.concat([blob, blob, blob, blob]));
    await once(tls, "data");
    tcp.resetAndDestroy();
    await expectServing(server);
  });

  it("right after the handshake is noticed", async () => {
    const server = await openDaemon(serverFiles({ limits: { header_timeout_ms: 500 } }));
    const tcp = connectTcp({ host: "127.0.0.1", port: server.daemon.port });
    const tls = connectTls({ socket: tcp, rejectUnauthorized: false });
    tls.on("error", () => undefined);
    await once(tls, "secureConnect");
    const started = heard("started", "early");
    tls.write(call("EXECUTE", "/gates", { id: "early", obeys: true }));
    const aborted = heard("aborted", "early");
    await started;
    tcp.resetAndDestroy();
    await aborted;
    await server.close();
    expect(server.log.at(-1)?.["event"]).toBe("stopped");
  });

  it("right after the handshake gives the places of those that asked for much to others", async () => {
    const places = 8;
    const limits = { header_timeout_ms: 400, max_connections_per_address: places };
    const server = await openDaemon(
      serverFiles({ limits: { ...limits, idle_timeout_ms: 600_000 } }),
    );
    const resets = Array.from({ length: places }, async () => {
      const tcp = connectTcp({ host: "127.0.0.1", port: server.daemon.port });
      const tls = connectTls({ socket: tcp, rejectUnauthorized: false });
      tls.on("error", () => undefined);
      await once(tls, "secureConnect");
      const asked = Buffer.concat(Array.from({ length: 64 }, (_, index) => echo(index)));
      await new Promise((resolve) => tls.write(asked, resolve));
      tcp.resetAndDestroy();
    });
    await Promise.all(resets);
    // Each asks anew until it is let in.
    const others = Array.from({ length: places }, () => untilServed(server));
    expect(await Promise.all(others)).toEqual(Array(places).fill(200));
  });

  it("leaves nothing behind", async () => {
    const server = await openDaemon(serverFiles());
    const resets = Array.from({ length: 40 }, async (_, index) => {
      const { tcp, tls } = await connectOverTcp(server.daemon);
      const id = `swarm ${index}`;
      const started = heard("started", id);
      const aborted = heard("aborted", id);
      tls.write(call("EXECUTE", "/gates", { id }));
      await started;
      tcp.resetAndDestroy();
      await aborted;
    });
    await Promise.all(resets);
    await expectServing(server);
    // A drain that has nobody to wait for.
    await server.close();
    expect(server.log.at(-1)?.["event"]).toBe("stopped");
  });
});
