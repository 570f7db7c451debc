/**
 * The HTTP listener of the sidecar: binds, admits, times out and drains connections, and passes each request to the
 * current deployment's gateway. Plain, or TLS 1.2 and 1.3.   `[gateway]`
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

/** A certificate and its key in PEM. */
export interface HttpTls {
  readonly cert: string;
  readonly key: string;
}

interface HttpListenerOptions {
  /** The name of the served API, for messages: `the HTTP sidecar`. */
  readonly subject: string;
  /** Undefined: plain HTTP. */
  readonly tls: HttpTls | undefined;
  limits(): LimitsConfig;
  /** Shared by the whole daemon; swept by the AGTP listener. */
  readonly sendBudget: SendBudget;
  /** Returns the gateway of the current deployment; undefined if it has none. */
  gateway(): Gateway | undefined;
  onFault(error: unknown): void;
}

/** TLS options. Renegotiation is off, since it costs the server work and gives clients nothing. */
const TRANSPORT: SecureContextOptions = {
  // No client certificate is requested, so Node need not load its trusted authorities.
  ca: [],
  minVersion: "TLSv1.2",
  secureOptions: constants.SSL_OP_NO_RENEGOTIATION,
};

/** The longest that a peer may take to close after a fault was answered. */
const LINGER_MS = 2_000;

const SWEEP_MS = 1_000;

/**
 * The time per turn in which requests start. With 500 at once a turn took 160 to 350 ms without it, 20 to 60 with
 * it.
 */
const SHARE_MS = 4;

/** A connection after its handshake. */
interface OpenConnection {
  readonly turns: HttpTurns;
  /** Undefined: plain HTTP. */
  readonly overhead: TlsOverhead | undefined;
  /** Requests since the last sweep. */
  requests: number;
}

/** An HTTP listener that is not bound yet. */
export class HttpListener {
  readonly #options: HttpListenerOptions;
  readonly #server: http.Server | https.Server;
  readonly #caps: ConnectionCaps;
  /** By peer address, since Node does not expose the raw socket under a TLS socket. */
  readonly #handshakes = new Map<string, Admitted>();
  readonly #connections = new Map<Duplex, OpenConnection>();
  readonly #answering = new Set<http.ServerResponse>();
  /** The budget for starting requests, all connections together. */
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
    // Expectations other than 100-continue may be ignored; Node's default is 417. RFC 9110 §10.1.1
    server.on("checkExpectation", take);
    server.on("connect", (_request, socket: Duplex) => {
      // Node has detached the socket: it no longer reads it or handles its errors.
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

  /** Applies the limits of a new deployment, and its certificate to new connections. */
  renew(tls: HttpTls | undefined): void {
    const { headerTimeoutMs, bodyTimeoutMs, idleTimeoutMs, headerCount } = this.#options.limits();
    const server = this.#server;
    server.headersTimeout = headerTimeoutMs;
    server.requestTimeout = headerTimeoutMs + bodyTimeoutMs;
    server.keepAliveTimeout = idleTimeoutMs;
    // Node drops fields beyond the limit silently; one more reveals the excess.
    server.maxHeadersCount = headerCount + 1;
    if (server instanceof https.Server && tls !== undefined)
      server.setSecureContext({ ...tls, ...TRANSPORT });
  }

  /** Stops accepting, answers everything received, and closes the rest after `timeoutMs`. */
  async drain(timeoutMs: number): Promise<void> {
    this.#isDraining = true;
    const closed = new Promise<void>((resolve) => {
      // Also called back, with an error, if the server never listened.
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

  /** Destroys connections with excessive TLS overhead, such as endless key updates. */
  #sweep(): void {
    for (const [socket, connection] of this.#connections) {
      if (connection.overhead?.isExcessive(connection.requests)) socket.destroy();
      connection.requests = 0;
    }
  }

  #admit(socket: Socket): void {
    const { remoteAddress: address } = socket;
    // An undefined address means that the peer has disconnected already.
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
      // A request answered early gets no second answer for its remaining octets.
      isComplete: () => request.complete || response.headersSent,
      begin: () => {
        this.#answering.add(response);
        response.once("close", () => {
          this.#answering.delete(response);
          turns.over(turn);
          // Response headers sent before the drain did not announce the close.
          if (this.#isDraining && turns.isIdle) request.socket.end();
        });
        this.#beginnings.take(() => this.#begin(request, response));
      },
    };
    turns.take(turn, this.#options.limits().maxPipelined);
  }

  #begin(request: http.IncomingMessage, response: http.ServerResponse): void {
    // The client left while the request waited.
    if (response.closed) return;
    // After the last response Node destroys the socket, even if octets are still in flight.
    response.prependOnceListener("finish", () => {
      if (!request.complete) request.socket.destroySoon = () => this.#linger(request.socket);
    });
    // Node reads nothing after a request with Upgrade, which is not supported here, so the connection must close.
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

  /** Answers an unparsable request, after the earlier requests are answered. */
  #refuse(error: Error, socket: Duplex): void {
    if (isReadingFault(error)) this.#fail(faultOf(error), socket);
    else socket.destroy();
  }

  #fail(fault: WireFault, socket: Duplex): void {
    const turns = this.#connections.get(socket)?.turns;
    // The parser fails again for each chunk that follows a fault.
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

  /** Half-closes: after a reset, a peer that is still sending would not read the response.   RFC 9112 §9.6 */
  #linger(socket: Socket): void {
    this.#connections.get(socket)?.turns.end();
    socket.end();
    socket.setTimeout(LINGER_MS, () => socket.destroy());
    // A peer that keeps sending gets the time of an idle connection.
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

/** Finds faults that Node's parser accepts; HTTP/1.0 did not require Host.   RFC 9112 §2.3, §3.2, §6.1 */
function faultIn(request: http.IncomingMessage): WireFault | undefined {
  const { headers, httpVersion } = request;
  if (httpVersion !== "1.1" && httpVersion !== "1.0") return STRANGE_VERSION;
  if (headers.host === undefined && httpVersion === "1.1") return NO_HOST;
  if (isRepeated("host", request)) return TWO_HOSTS;
  if (isRepeated("authorization", request)) return TWO_CREDENTIALS;
  const { "transfer-encoding": coding } = headers;
  if (coding === undefined) return undefined;
  // An HTTP/1.0 proxy forwards it without understanding it, and frames the body differently.
  if (httpVersion === "1.0") return OLD_CODING;
  return coding.toLowerCase() === "chunked" ? undefined : STRANGE_CODING;
}

/** Node takes the first of repeated fields, while a proxy may have used another. */
function isRepeated(name: string, { rawHeaders }: http.IncomingMessage): boolean {
  let count = 0;
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const one = rawHeaders[at]!;
    if (one.length === name.length && one.toLowerCase() === name) count += 1;
  }
  return count > 1;
}

/** Creates the server with the limits that are fixed once bound; the request target counts as part of the head. */
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
    // Node's own refusal has no body, and would not be recorded.
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

/** Identifies a connection: the raw socket and the TLS socket on it have the same peer. */
function peerOf({ remoteAddress, remotePort }: Socket): string {
  return `${remoteAddress} ${remotePort}`;
}
