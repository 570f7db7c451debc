import { once } from "node:events";
import { type AddressInfo, connect, type Socket } from "node:net";
import { PassThrough } from "node:stream";
import tls from "node:tls";
import { describe, expect, it, onTestFinished } from "vitest";
import { readShared, releaseSocket } from "../../src/server/node-sockets.ts";
import { makeCertificate } from "../support/certificate.ts";

/** Two ends of a connection; the server's is read, and says what it has heard. */
async function connectPair() {
  const server = tls.createServer({ ...(await makeCertificate()), minVersion: "TLSv1.3" });
  await once(server.listen(0, "127.0.0.1"), "listening");
  const { port } = server.address() as AddressInfo;
  const tcp = connect(port, "127.0.0.1");
  const client = tls.connect({ socket: tcp, rejectUnauthorized: false });
  const secured = once(client, "secureConnect");
  const [socket] = (await once(server, "secureConnection")) as [tls.TLSSocket];
  await secured;
  client.on("error", () => undefined);
  onTestFinished(() => {
    client.destroy();
    socket.destroy();
    server.close();
  });
  const chunks: Buffer[] = [];
  readShared(socket, (chunk) => {
    chunks.push(chunk);
    socket.emit("heard");
  });
  const heard = async (text: string): Promise<void> => {
    while (Buffer.concat(chunks).toString() !== text) await once(socket, "heard");
  };
  return { tcp, client, socket, chunks, heard };
}

describe("readShared", () => {
  it("hands on what arrives, also what is longer than the buffer", async () => {
    const { client, heard } = await connectPair();
    const text = "0123456789".repeat(30_000);
    client.write(text);
    await heard(text);
  });

  it("makes no buffer of its own for a short chunk", async () => {
    const { client, chunks, heard } = await connectPair();
    client.write("one");
    await heard("one");
    const [size = 0] = chunks.map(({ buffer }) => buffer.byteLength);
    expect(size).toBeGreaterThanOrEqual(Buffer.poolSize);
  });

  it("never writes over a chunk, also where another socket is read", async () => {
    const [one, other] = [await connectPair(), await connectPair()];
    one.client.write("one");
    await one.heard("one");
    other.client.write("two");
    await other.heard("two");
    one.client.write("three");
    await one.heard("onethree");
    expect(other.chunks.join("")).toBe("two");
  });

  it("hands nothing on while the socket is paused", async () => {
    const { client, socket, chunks, heard } = await connectPair();
    socket.pause();
    client.write("one");
    // Written later, and read.
    const other = await connectPair();
    other.client.write("x");
    await other.heard("x");
    expect(chunks).toEqual([]);
    socket.resume();
    await heard("one");
  });

  it("tells of the end of the peer's side", async () => {
    const { client, socket, heard } = await connectPair();
    const ended = once(socket, "end");
    client.end("one");
    await ended;
    await heard("one");
  });

  it("tells of a peer that resets", async () => {
    const { tcp, socket } = await connectPair();
    socket.on("error", () => socket.destroy());
    const closed = once(socket, "close");
    tcp.resetAndDestroy();
    await closed;
    expect(socket.destroyed).toBe(true);
  });

  it("reads a stream of any other make by its events", async () => {
    const stream = new PassThrough();
    const chunks: Buffer[] = [];
    readShared(stream as unknown as Socket, (chunk) => chunks.push(chunk));
    stream.end("one");
    await once(stream, "end");
    expect(chunks.join("")).toBe("one");
  });
});

describe("releaseSocket", () => {
  it("lets a closed socket keep none of those that listened, and a late error ends nothing", async () => {
    const { socket, chunks } = await connectPair();
    const closed = once(socket, "close");
    socket.destroy();
    await closed;
    releaseSocket(socket);
    expect(socket.eventNames()).toEqual(["error"]);
    expect(socket.emit("error", new Error("late"))).toBe(true);
    const held = Object.getOwnPropertySymbols(socket).find(
      ({ description }) => description === "kBufferCb",
    );
    expect(held && (socket as unknown as Record<symbol, unknown>)[held]).toBeNull();
    expect(chunks).toEqual([]);
  });
});
