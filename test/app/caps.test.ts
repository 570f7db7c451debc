import { connect as connectTcp, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import type { Daemon } from "../../src/app/daemon.ts";
import { clientHello } from "../support/client-hello.ts";
import { closeOf, openDaemon } from "../support/daemon.ts";
import { echo, serverFiles } from "../support/server-deployment.ts";

/** Begins a handshake; answers with what the server sent before it closed, if it did. */
function knock({ port }: Daemon, localAddress = "127.0.0.1") {
  const socket = connectTcp({ host: "127.0.0.1", port, localAddress });
  const received: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => received.push(chunk));
  socket.write(clientHello());
  const closed = closeOf(socket).then(() => Buffer.concat(received));
  const answered = new Promise<void>((resolve) => {
    socket.once("data", () => resolve());
  });
  return { socket, closed, answered };
}

function closeAll(sockets: readonly { readonly socket: Socket }[]): void {
  for (const { socket } of sockets) socket.destroy();
}

// `[limits]`: over a connection cap a connection is closed before the handshake.
describe.each([
  ["in all", { max_connections: 3 }],
  ["from one address", { max_connections_per_address: 3 }],
])("the cap on connections %s", (_, limits) => {
  it("closes what is over it before the handshake", async () => {
    const { daemon, connect } = await openDaemon(serverFiles({ limits }));
    const held = [await connect(), await connect(), await connect()];
    for (let attempt = 0; attempt < 5; attempt += 1) {
      expect(await knock(daemon).closed).toHaveLength(0);
    }
    for (const client of held) {
      client.write(echo(1));
      expect(await client.replies(1)).toHaveLength(1);
    }
  });

  it("counts handshakes that are not done", async () => {
    const { daemon } = await openDaemon(serverFiles({ limits }));
    const pending = [knock(daemon), knock(daemon), knock(daemon)];
    await Promise.all(pending.map(({ answered }) => answered));
    expect(await knock(daemon).closed).toHaveLength(0);
    closeAll(pending);
  });

  it("has room again when a connection closes", async () => {
    const { daemon, connect } = await openDaemon(serverFiles({ limits }));
    const held = [await connect(), await connect(), await connect()];
    expect(await knock(daemon).closed).toHaveLength(0);
    held[0]?.end();
    await held[0]?.closed();
    const client = await connect();
    client.write(echo(1));
    expect(await client.replies(1)).toHaveLength(1);
  });
});

describe("the cap on connections from one address", () => {
  it("leaves other addresses their room", async () => {
    const limits = { max_connections_per_address: 1 };
    const { daemon, connect } = await openDaemon(serverFiles({ limits }));
    await connect();
    expect(await knock(daemon).closed).toHaveLength(0);
    const other = knock(daemon, "127.0.0.2");
    await other.answered;
    other.socket.destroy();
  });
});

describe("200 handshakes that do not go on", () => {
  it("hold up nobody", async () => {
    const { daemon, connect } = await openDaemon(serverFiles());
    const pending = Array.from({ length: 200 }, () => knock(daemon));
    await Promise.all(pending.map(({ answered }) => answered));
    const client = await connect();
    client.write(echo(1));
    expect(await client.replies(1)).toHaveLength(1);
    closeAll(pending);
  });

  it("do not hold up a drain", async () => {
    const server = await openDaemon(serverFiles({ limits: { drain_timeout_ms: 60_000 } }));
    const pending = Array.from({ length: 200 }, () => knock(server.daemon));
    await Promise.all(pending.map(({ answered }) => answered));
    await Promise.all([server.close(), ...pending.map(({ closed }) => closed)]);
  });
});
