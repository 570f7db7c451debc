/** An HTTPS server on a free loopback port that plays the external service. */

import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { makeCertificate } from "./certificate.ts";

/** One request as the upstream got it. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

type Responder = (response: ServerResponse, request: SeenRequest) => void;

/** Answers as the test says, and remembers what it was asked. */
export interface HttpsUpstream {
  readonly origin: string;
  readonly port: number;
  /** The CA that vouches for it. */
  readonly ca: string;
  readonly seen: readonly SeenRequest[];
  /** How many connections were ever made. */
  readonly connections: number;
  respond(responder: Responder): void;
  respondJson(status: number, body: unknown): void;
  /** Resets the connection of a response, as a host does that knows it no more. */
  reset(response: ServerResponse): void;
  close(): Promise<void>;
}

export async function startUpstream(): Promise<HttpsUpstream> {
  const { cert, key } = await makeCertificate();
  const seen: SeenRequest[] = [];
  const sockets = new Set<Socket>();
  let connections = 0;
  let responder: Responder = (response) => response.end("{}");
  const server: Server = createServer({ cert, key }, async (request, response) => {
    const { method = "", url = "", headers } = request;
    const got = { method, url, headers, body: await text(request) };
    seen.push(got);
    responder(response, got);
  });
  server.on("secureConnection", () => {
    connections += 1;
  });
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    origin: `https://127.0.0.1:${port}`,
    port,
    ca: cert,
    seen,
    get connections() {
      return connections;
    },
    respond(next) {
      responder = next;
    },
    respondJson(status, body) {
      responder = (response) => {
        response.writeHead(status, { "content-type": "application/json" });
        response.end(JSON.stringify(body));
      };
    },
    reset(response) {
      const port = response.socket?.remotePort;
      for (const socket of sockets) if (socket.remotePort === port) socket.resetAndDestroy();
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
