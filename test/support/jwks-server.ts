/** An issuer's key server on a free loopback port, over HTTP or HTTPS. */
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { JWK } from "jose";
import { onTestFinished } from "vitest";
import { makeCertificate } from "./certificate.ts";

type Responder = (response: ServerResponse, request: IncomingMessage) => void;

/** Answers as the test says, and counts how often it was asked. */
interface JwksServer {
  readonly uri: string;
  /** The CA that vouches for it, over HTTPS. */
  readonly ca: string | undefined;
  readonly requests: readonly IncomingMessage[];
  publish(keys: readonly JWK[], headers?: Readonly<Record<string, string>>): void;
  respond(responder: Responder): void;
  close(): Promise<void>;
}

/** Starts a server for the running test. */
export async function openJwksServer(scheme: "http" | "https" = "http"): Promise<JwksServer> {
  const requests: IncomingMessage[] = [];
  const sockets = new Set<Socket>();
  let responder: Responder = (response) => response.writeHead(503).end();
  const listener = (request: IncomingMessage, response: ServerResponse): void => {
    requests.push(request);
    responder(response, request);
  };
  const certificate = scheme === "https" ? await makeCertificate() : undefined;
  const server: Server =
    certificate === undefined
      ? createHttpServer(listener)
      : createHttpsServer({ cert: certificate.cert, key: certificate.key }, listener);
  server.on("connection", (socket: Socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (!isOpen) return;
    isOpen = false;
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) socket.destroy();
    await closed;
  };
  onTestFinished(close);
  return {
    uri: `${scheme}://127.0.0.1:${port}/jwks`,
    ca: certificate?.cert,
    requests,
    publish(keys, headers = {}) {
      responder = (response) => {
        response.writeHead(200, { "content-type": "application/jwk-set+json", ...headers });
        response.end(JSON.stringify({ keys }));
      };
    },
    respond(next) {
      responder = next;
    },
    close,
  };
}
