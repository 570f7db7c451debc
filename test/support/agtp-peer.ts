/** A peer on loopback that reads requests and answers as a test wants it to, byte by byte. */

import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { createServer, type Server, type TLSSocket, type TlsOptions } from "node:tls";
import type { Request } from "../../src/wire/message.ts";
import { isWireFault } from "../../src/wire/message-parser.ts";
import { RequestParser } from "../../src/wire/request-parser.ts";
import { makeCertificate } from "./certificate.ts";

/** What a test sees of the peer. */
export interface AgtpPeer {
  readonly port: number;
  readonly cert: string;
  /** All requests, over all connections, in the order they came. */
  readonly requests: Request[];
  connections: number;
  close(): Promise<void>;
}

/** Called for each request; `index` counts over all connections, from 0. */
export type Answer = (socket: TLSSocket, request: Request, index: number) => void;

const LIMITS = {
  requestLineBytes: 8192,
  headerBytes: 65_536,
  headerCount: 128,
  bodyBytes: 1 << 24,
};
const certificate = makeCertificate();

/** A whole response, as bytes. */
export function reply(body = "{}", status = "200 OK", fields = ""): Buffer {
  const length = Buffer.byteLength(body);
  return Buffer.from(`AGTP/1.0 ${status}\r\n${fields}Content-Length: ${length}\r\n\r\n${body}`);
}

/** Listens on a free port. */
export async function startPeer(answer: Answer, options: TlsOptions = {}): Promise<AgtpPeer> {
  const { cert, key } = await certificate;
  const sockets = new Set<TLSSocket>();
  const server: Server = createServer({ cert, key, minVersion: "TLSv1.3", ...options });
  const peer: AgtpPeer = {
    port: await listen(server),
    cert,
    requests: [],
    connections: 0,
    close: () => {
      for (const socket of sockets) socket.destroy();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
  server.on("secureConnection", (socket) => {
    peer.connections += 1;
    sockets.add(socket);
    socket.on("error", () => {});
    socket.on("close", () => sockets.delete(socket));
    readRequests(socket, peer, answer);
  });
  return peer;
}

function readRequests(socket: TLSSocket, peer: AgtpPeer, answer: Answer): void {
  const parser = new RequestParser(LIMITS);
  socket.on("data", (chunk: Buffer) => {
    parser.push(chunk);
    for (let message = parser.next(); message !== undefined; message = parser.next()) {
      if (isWireFault(message)) throw new Error(message.message);
      answer(socket, message, peer.requests.push(message) - 1);
    }
  });
}

async function listen(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
