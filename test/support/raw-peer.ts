/** A TLS server on loopback that answers octets with octets, and understands neither. */
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer, type TLSSocket } from "node:tls";
import { onTestFinished } from "vitest";
import { makeCertificate } from "./certificate.ts";

export interface RawPeer {
  readonly uri: string;
  /** What each connection sent, whole. */
  readonly received: readonly string[];
}

/** Called for every chunk that comes. */
export type RawAnswer = (socket: TLSSocket) => void;

const certificate = makeCertificate();

/** Listens for the running test. */
export async function openRawPeer(answer: RawAnswer): Promise<RawPeer> {
  const { cert, key } = await certificate;
  const received: string[] = [];
  const sockets = new Set<TLSSocket>();
  const server = createServer({ cert, key, minVersion: "TLSv1.3" }, (socket) => {
    const index = received.push("") - 1;
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => sockets.delete(socket));
    socket.on("data", (chunk: Buffer) => {
      received[index] += chunk.toString("latin1");
      answer(socket);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { uri: `agtp://127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}
