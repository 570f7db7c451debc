/**
 * The HTTP listener of the sidecar: binds, admits, times out and drains connections, and hands each
 * request to the sidecar of the deployment in force. Plain, or TLS 1.2 and 1.3.   `[gateway]`
 */
import { constants } from "node:crypto";
import { once } from "node:events";
import http from "node:http";
import https from "node:https";
import type { AddressInfo, Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { SecureContextOptions } from "node:tls";
import { quietened } from "../base/back-off.ts";
import { LoopTurns } from "../base/loop-turns.ts";
import type { Gateway } from "../dispatch/module/http-gateway.ts";
import type { LimitsConfig } from "../wire/limits-section.ts";
import type { WireFault } from "../wire/message.ts";
import {
  type Admitted,
  ConnectionCaps,
  type SendBudget,
  TlsOverhead,
} from "./connection-limits.ts";
import { faultOctets, faultOf, isReadingFault } from "./http-fault.ts";
import { HttpTurns, type Turn } from "./http-turns.ts";
import { pacedResponses } from "./paced-response.ts";

/** Certificate and key, as PEM text. */
export interface HttpTls {
  readonly cert: string;
  readonly key: string;
}

interface HttpListenerOptions {
  /** The name of what it serves, for messages: `the HTTP sidecar`. */
  readonly subject: string;
  /** Undefined: plain HTTP. */
  readonly tls: HttpTls | undefined;
  limits(): LimitsConfig;
  /** Of all that the daemon sends; swept by the AGTP listener. */
  readonly sendBudget: SendBudget;
  /** Undefined while the deployment in force has none. */
  gateway(): Gateway | undefined;
  onFault(error: unknown): void;
}

/** A client that asks for another handshake asks for work that is of no use to it. */
const TRANSPORT: SecureContextOptions = {
  // Nobody is asked for a certificate: Node need not read those that it trusts.
  ca: [],
  minVersion: "TLSv1.2",
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
};

/** The longest that a peer may take to close after it was told that it is not understood. */
const LINGER_MS = 2_000;

const SWEEP_MS = 1_000;

/** The share of a turn in which requests are begun. Of 500 at once a turn took 160 to 350 ms, with it 20 to 60. */
const SHARE_MS = 4;

/** A connection whose handshake is done. */
interface OpenConnection {
  readonly turns: HttpTurns;
  /** Undefined: plain HTTP. */
  readonly overhead: TlsOverhead | undefined;
  /** Since the last sweep. */
  requests: number;
}

/** Serves the sidecar; nothing is bound yet. */
export class HttpListener {
  readonly #options: HttpListenerOptions;
  readonly #server: http.Server | https.Server;
  readonly #caps: ConnectionCaps;
  /** By peer: Node tells of a socket that is secured, and not over which one. */
  readonly #handshakes = new Map<string, Admitted>();
  readonly #connections = new Map<Duplex, OpenConnection>();
  readonly #answering = new Set<http.ServerResponse>();
  /** In which requests are begun, those of all connections together. */
  readonly #beginnings = new LoopTurns(SHARE_MS);
  #sweeper: NodeJS.Timeout | undefined;
  #isDraining = false;

  constructor(options: HttpListenerOptions) {
    this.#options = options;
    this.#caps = new ConnectionCaps(options.limits);
    const server = createServer(options);
    this.#server = server;
    server.on("connection", (socket: Socket) => this.#admit(socket));
    const opened = options.tls === undefined ? "connection" : "secureConnection";
    server.on(opened, (socket: Socket) => this.#open(socket));
    const take: http.RequestListener = (request, response) => this.#take(request, response);
    server.on("request", take);
    // An expectation beyond 100-continue may be passed over; Node by itself answers 417.   RFC 9110 §10.1.1
    server.on("checkExpectation", take);
    server.on("connect", (_request, socket: Duplex) => {
      // Node has left the socket alone: nobody else reads it, nor hears its errors.
      socket.on("error", () => socket.destroy()).resume();
      this.#fail(NO_TUNNEL, socket);
    });
    server.on("clientError", (error, socket) => this.#refuse(error, socket));
    this.renew(options.tls);
  }

  get connectionCount(): number {
    return this.#caps.count;
  }

  async listen(host: string, port: number): Promise<AddressInfo> {
    const server = this.#server;
    server.listen({ host, port, backlog: 1024 });
    await once(server, "listening");
    server.on("error", quietened(this.#options.onFault));
    if (this.#options.tls !== undefined)
      this.#sweeper = setInterval(() => this.#sweep(), SWEEP_MS).unref();
    return server.address() as AddressInfo;
  }

  /** Takes over the limits of another deployment, and its certificate for new connections. */
  renew(tls: HttpTls | undefined): void {
    const { headerTimeoutMs, bodyTimeoutMs, idleTimeoutMs, headerCount } = this.#options.limits();
    const server = this.#server;
    server.headersTimeout = headerTimeoutMs;
    server.requestTimeout = headerTimeoutMs + bodyTimeoutMs;
    server.keepAliveTimeout = idleTimeoutMs;
    // Node leaves out what is beyond; one more shows that there was something.
    server.maxHeadersCount = headerCount + 1;
    if (server instanceof https.Server && tls !== undefined)
      server.setSecureContext({ ...tls, ...TRANSPORT });
  }

  /** Stops accepting, answers what was received, and closes what is left after `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true;
    const closed = new Promise<void>((resolve) => {
      // One that never listened has nothing to close.
      this.#server.close(() => resolve());
    });
    this.#caps.endHandshakes();
    for (const [socket, { turns }] of this.#connections) if (turns.isIdle) socket.destroy();
    for (const response of this.#answering) response.shouldKeepAlive = false;
    const timer = setTimeout(() => this.#caps.endAll(), timeoutMs);
    await closed;
    clearTimeout(timer);
    clearInterval(this.#sweeper);
  }

  /** Ends connections whose peers only update their keys. */
  #sweep(): void {
    for (const [socket, connection] of this.#connections) {
      if (connection.overhead?.isExcessive(connection.requests)) socket.destroy();
      connection.requests = 0;
    }
  }

  #admit(socket: Socket): void {
    const { remoteAddress: address } = socket;
    // Without an address the peer was gone before it could be served.
    if (address === undefined || !this.#caps.hasRoom(address)) {
      socket.destroy();
      return;
    }
    const admitted = this.#caps.admit(socket, address);
    const peer = peerOf(socket);
    this.#handshakes.set(peer, admitted);
    socket.once("close", () => {
      if (this.#handshakes.get(peer) === admitted) this.#handshakes.delete(peer);
    });
  }

  #open(socket: Socket): void {
    if (socket.destroyed) return;
    const admitted = this.#handshakes.get(peerOf(socket));
    if (admitted !== undefined) this.#caps.established(admitted);
    const raw = admitted?.socket ?? socket;
    const overhead = raw === socket ? undefined : new TlsOverhead(raw, socket);
    this.#connections.set(socket, { turns: new HttpTurns(socket), overhead, requests: 0 });
    socket.once("close", () => this.#connections.delete(socket));
  }

  #take(request: http.IncomingMessage, response: http.ServerResponse): void {
    const connection = this.#connections.get(request.socket);
    if (connection === undefined || connection.turns.hasFailed) return;
    const { turns } = connection;
    connection.requests += 1;
    const fault = faultIn(request);
    if (fault !== undefined) {
      request.resume();
      this.#fail(fault, request.socket);
      return;
    }
    const turn: Turn = {
      // A request that was answered early gets no second answer for its rest.
      isComplete: () => request.complete || response.headersSent,
      begin: () => {
        this.#answering.add(response);
        response.once("close", () => {
          this.#answering.delete(response);
          turns.over(turn);
          // A head that left before the drain did not say that the connection ends.
          if (this.#isDraining && turns.isIdle) request.socket.end();
        });
        this.#beginnings.take(() => this.#begin(request, response));
      },
    };
    turns.take(turn, this.#options.limits().maxPipelined);
  }

  #begin(request: http.IncomingMessage, response: http.ServerResponse): void {
    // A client that has left while it waited is not answered.
    if (response.closed) return;
    // With its last answer Node destroys a socket, however much is on its way.
    response.prependOnceListener("finish", () => {
      if (!request.complete) request.socket.destroySoon = () => this.#linger(request.socket);
    });
    // Of what came behind a request to change protocols, which nobody does here, Node reads nothing.
    if (this.#isDraining || request.headers.upgrade !== undefined) response.shouldKeepAlive = false;
    const gateway = this.#options.gateway();
    if (gateway === undefined) {
      const message = `${this.#options.subject} is switched off`;
      response.shouldKeepAlive = false;
      response.writeHead(503, { "content-type": "application/json; charset=utf-8" });
      response.end(JSON.stringify({ error: { code: "unavailable", message } }));
      return;
    }
    try {
      gateway.handle(request, response);
    } catch (error) {
      this.#options.onFault(error);
      response.destroy();
    }
  }

  /** Refuses what cannot be read, after the earlier requests are answered. */
  #refuse(error: Error, socket: Duplex): void {
    if (isReadingFault(error)) this.#fail(faultOf(error), socket);
    else socket.destroy();
  }

  #fail(fault: WireFault, socket: Duplex): void {
    const turns = this.#connections.get(socket)?.turns;
    // The parser fails again at each piece of what comes behind a fault.
    if (turns?.hasFailed) return;
    if (turns === undefined || !socket.writable) {
      socket.destroy();
      return;
    }
    turns.fail(() => {
      this.#writeFault(fault, socket as Socket).catch((cause: unknown) => {
        this.#options.onFault(cause);
        socket.destroy();
      });
    });
  }

  async #writeFault(fault: WireFault, socket: Socket): Promise<void> {
    const { remoteAddress: address = "", remotePort: port = 0 } = socket;
    const answer = await this.#options.gateway()?.answerFault(fault, { address, port });
    if (answer === undefined || !socket.writable) socket.destroy();
    else {
      socket.write(faultOctets(answer));
      this.#linger(socket);
    }
  }

  /** Ends a connection whose peer may still send, and would not read what it is told in a reset.   RFC 9112 §9.6 */
  #linger(socket: Socket): void {
    this.#connections.get(socket)?.turns.end();
    socket.end();
    socket.setTimeout(LINGER_MS, () => socket.destroy());
    // One that does not fall silent has the time of an idle connection.
    const late = setTimeout(() => socket.destroy(), this.#options.limits().idleTimeoutMs);
    socket.once("close", () => clearTimeout(late));
  }
}

const NO_HOST = refusedAs("invalid-framing", "the request has no Host field");
const TWO_HOSTS = refusedAs("invalid-framing", "more than one Host field");
const TWO_CREDENTIALS = refusedAs("invalid-wire-format", "more than one Authorization field");
const OLD_CODING = refusedAs("invalid-framing", "HTTP/1.0 has no transfer encodings");
const STRANGE_CODING = refusedAs("invalid-framing", "the transfer encoding is not known");
const STRANGE_VERSION = refusedAs(
  "invalid-request-line",
  "the version of HTTP is neither 1.1 nor 1.0",
);
const NO_TUNNEL = refusedAs("invalid-request-line", "this is no proxy: CONNECT is not served");

function refusedAs(code: WireFault["code"], message: string): WireFault {
  return { kind: "wire-fault", code, message };
}

/** Where Node's parser is content and the protocol is not: HTTP/1.0 had no Host.   RFC 9112 §2.3, §3.2, §6.1 */
function faultIn(request: http.IncomingMessage): WireFault | undefined {
  const { headers, httpVersion } = request;
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return STRANGE_VERSION;
  if (headers.host === undefined && httpVersion === "1.1") return NO_HOST;
  if (isRepeated("host", request)) return TWO_HOSTS;
  if (isRepeated("authorization", request)) return TWO_CREDENTIALS;
  const { "transfer-encoding": coding } = headers;
  if (coding === undefined) return undefined;
  // A proxy of that version passes it on unread, and sees another end of the body.
  if (httpVersion === "1.0") return OLD_CODING;
  return coding.toLowerCase() === "chunked" ? undefined : STRANGE_CODING;
}

/** Node gives the first of such fields, where a proxy may have gone by another. */
function isRepeated(name: string, { rawHeaders }: http.IncomingMessage): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const one = rawHeaders[at]!;
    if (one.length === name.length && one.toLowerCase() === name) count += 1;
  }
  return count > 1;
}

/** The limits that cannot change while it is bound; the target counts as part of the head. */
function createServer({
  tls,
  limits,
  sendBudget,
}: HttpListenerOptions): http.Server | https.Server {
  const { requestLineBytes, headerBytes, headerTimeoutMs, bodyTimeoutMs } = limits();
  const shortest = Math.min(headerTimeoutMs, bodyTimeoutMs);
  const options = {
    maxHeaderSize: requestLineBytes + headerBytes,
    connectionsCheckingInterval: Math.min(1_000, Math.max(20, Math.floor(shortest / 4))),
    noDelay: true,
    // Node's own refusal would say nothing, and be in no record.
    requireHostHeader: false,
    ServerResponse: pacedResponses(sendBudget),
  };
  if (tls === undefined) return http.createServer(options);
  return https.createServer({
    ...options,
    ...tls,
    ...TRANSPORT,
    handshakeTimeout: headerTimeoutMs,
  });
}

/** The raw socket and the one over it have it in common. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
