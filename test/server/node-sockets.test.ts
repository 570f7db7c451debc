import { once } from "node:events";
import { type AddressInfo, connect as connectTcp, createServer } from "node:net";
import { connect, createSecureContext, type TLSSocket } from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  type AcceptedHandle,
  type PeerAddress,
  peerOf,
  secureHandle,
  socketOf,
  takeHandles,
} from "../../src/server/node-sockets.ts";
import { makeCertificate } from "../support/certificate.ts";
import { closeOf } from "../support/daemon.ts";

/** A server whose connections are taken as they were accepted. */
async function listenFor(take: (accepted: AcceptedHandle) => void) {
  const sockets: unknown[] = [];
  const server = createServer((socket) => sockets.push(socket));
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  expect(takeHandles(server, take)).toBe(true);
  return { port: (server.address() as AddressInfo).port, sockets };
}

/** The same, and a client of it. */
async function connectTo(take: (accepted: AcceptedHandle) => void) {
  const { port, sockets } = await listenFor(take);
  const client = connect({ host: "127.0.0.1", port, rejectUnauthorized: false });
  client.on("error", () => undefined);
  onTestFinished(() => void client.destroy());
  return { client, sockets };
}

describe("a connection that is secured as it was accepted", () => {
  it("is read, written, counted and ended like any other, and no other socket is made for it", async () => {
    const secureContext = createSecureContext(await makeCertificate());
    const peer: Partial<PeerAddress> = {};
    const served: { accepted: AcceptedHandle; socket: TLSSocket }[] = [];
    const { client, sockets } = await connectTo((accepted) => {
      expect(accepted.getpeername(peer)).toBe(0);
      const socket = secureHandle(accepted, { isServer: true, secureContext });
      served.push({ accepted, socket });
      socket.on("data", (chunk) => socket.end(chunk));
    });
    await once(client, "secureConnect");
    expect(peer).toMatchObject({ address: "127.0.0.1", port: client.localPort });
    client.write("hello");
    const [echoed] = await once(client, "data");
    expect(String(echoed)).toBe("hello");
    const [{ accepted, socket } = expect.fail("nothing was accepted")] = served;
    expect(socket.bytesRead).toBe(5);
    expect(accepted.bytesRead).toBeGreaterThan(100);
    expect([socket.remoteAddress, socket.remotePort]).toEqual(["127.0.0.1", client.localPort]);
    if (!socket.destroyed) await once(socket, "close");
    expect(socket.readableEnded).toBe(true);
    expect(sockets).toEqual([]);
  });

  it("is ended by what is no TLS, without an error that nobody hears", async () => {
    const secureContext = createSecureContext(await makeCertificate());
    const closing: Promise<unknown>[] = [];
    const { port } = await listenFor((accepted) => {
      const socket = secureHandle(accepted, { isServer: true, secureContext });
      socket.on("_tlsError", () => socket.destroy());
      closing.push(closeOf(socket));
    });
    const client = connectTcp({ host: "127.0.0.1", port });
    client.resume().write("no TLS at all\r\n");
    await closeOf(client);
    expect(closing).toHaveLength(1);
    await Promise.all(closing);
  });

  it("becomes a socket that has read nothing, where another process is to serve it", async () => {
    let take: (accepted: AcceptedHandle) => void = () => undefined;
    const accepting = new Promise<AcceptedHandle>((resolve) => {
      take = resolve;
    });
    const { port } = await listenFor((accepted) => take(accepted));
    const client = connectTcp({ host: "127.0.0.1", port });
    onTestFinished(() => void client.destroy());
    client.write("hello");
    const accepted = await accepting;
    const peer = { address: "127.0.0.1", port: client.localPort };
    expect(peerOf(accepted)).toEqual(peer);
    const socket = socketOf(accepted);
    onTestFinished(() => void socket.destroy());
    expect(peerOf(socket)).toEqual(peer);
    expect([socket.readableFlowing, socket.bytesRead]).toEqual([false, 0]);
    const [read] = await Promise.all([once(socket, "data"), socket.resume()]);
    expect(String(read)).toBe("hello");
  });

  it("is refused before a handshake by closing it", async () => {
    const { client } = await connectTo((accepted) => accepted.close());
    await closeOf(client);
    expect(client.destroyed).toBe(true);
  });
});

describe("takeHandles", () => {
  it("leaves a server alone that does not listen", () => {
    expect(takeHandles(createServer(), () => undefined)).toBe(false);
  });
});
