/**
 * One connection of a client: sends requests, and matches responses to them in order. It never half-closes. Requests
 * left unanswered at its end are handed back to the client, which decides about resending.   AGTP "Connection
 * Lifetime"
 */

import type { TLSSocket } from "node:tls";
import type { ResponseLimits } from "../wire/fields.ts";
import { isWireFault } from "../wire/message-parser.ts";
import { type ReceivedResponse, ResponseParser } from "../wire/response-parser.ts";
import type { Peer } from "./agtp-client.ts";
import { AgtpClientError } from "./client-error.ts";
import { connectionError, isTurnedAway, lateConnection, openSocket, pinFault } from "./connect.ts";
import type { Exchange } from "./exchange.ts";

export interface ConnectionOptions {
  readonly peer: Peer;
  readonly limits: ResponseLimits;
  readonly connectTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** Called when the connection has become usable or has room for more requests. */
  onProgress(connection: ClientConnection): void;
  /** Called once the connection is closed; `lost` requests were sent and got no octet of a response. */
  onClosed(connection: ClientConnection, lost: readonly Exchange[], error: unknown): void;
}

/** A peer that closes after each response does so sooner than this. */
const PERSISTENCE_MS = 100;
const UNASKED = "a response that nobody asked for";

/** One TLS connection to the peer. */
export class ClientConnection {
  readonly #options: ConnectionOptions;
  readonly #socket: TLSSocket;
  readonly #parser: ResponseParser;
  readonly #connectTimer: NodeJS.Timeout;
  readonly #pending: Exchange[] = [];
  #idleTimer: NodeJS.Timeout | undefined;
  #isSecure = false;
  #isClosing = false;
  #error: unknown;
  #answered = 0;
  #idleSince = 0;

  /** Throws when the peer's PEM texts are unusable. */
  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#parser = new ResponseParser(options.limits);
    this.#socket = openSocket(options.peer);
    this.#connectTimer = setTimeout(() => this.#connectTimedOut(), options.connectTimeoutMs);
    this.#socket.on("secureConnect", () => this.#secured());
    this.#socket.on("data", (chunk: Buffer) => this.#receive(chunk));
    this.#socket.on("end", () => {
      this.#isClosing = true;
    });
    this.#socket.on("error", (error) => {
      this.#error ??= error;
    });
    this.#socket.on("close", () => this.#closed());
  }

  /** Requests that are queued or sent, and not answered. */
  get pendingCount(): number {
    return this.#pending.length;
  }

  /** True if the connection accepts another request. */
  get isUsable(): boolean {
    return !this.#isClosing;
  }

  /** True if the peer has kept the connection open after a response. */
  get isProvenPersistent(): boolean {
    if (this.#answered > 1) return true;
    const waited = performance.now() - this.#idleSince;
    return this.#answered === 1 && this.#pending.length === 0 && waited >= PERSISTENCE_MS;
  }

  /** Writes a request, at once or after the handshake. */
  send(exchange: Exchange): void {
    clearTimeout(this.#idleTimer);
    this.#pending.push(exchange);
    if (this.#isSecure) this.#socket.write(exchange.bytes);
  }

  /** Accepts no more requests, and closes once the pending ones are answered. */
  close(): void {
    this.#isClosing = true;
    clearTimeout(this.#idleTimer);
    if (this.#pending.length === 0) this.#socket.destroySoon();
  }

  /** Gives up a pending request: later responses may still arrive, but new requests use another connection. */
  abandon(exchange: Exchange): void {
    if (!this.#pending.includes(exchange)) return;
    this.#isClosing = true;
    this.#endIfDone();
  }

  /** Destroys the socket once nobody waits for a response, since those of abandoned requests may never come. */
  #endIfDone(): void {
    if (this.#pending.every((pending) => pending.isSettled)) this.#socket.destroy();
  }

  #secured(): void {
    clearTimeout(this.#connectTimer);
    if (pinFault(this.#socket, this.#options.peer) !== undefined) {
      const message = "no trusted TLS connection: the certificate is not the pinned one";
      this.#error = new AgtpClientError("ERR_AGTP_TLS", message);
      this.#socket.destroy();
      return;
    }
    this.#isSecure = true;
    for (const exchange of this.#pending) this.#socket.write(exchange.bytes);
    this.#options.onProgress(this);
  }

  #receive(chunk: Buffer): void {
    this.#parser.push(chunk);
    for (let read = this.#parser.next(); read !== undefined; read = this.#parser.next()) {
      if (isWireFault(read)) {
        this.#misbehaved(`${read.code}: ${read.message}`);
        return;
      }
      if (!this.#answer(read)) return;
    }
    if (this.#pending.length === 0) {
      if (this.#parser.phase !== "idle") {
        this.#misbehaved(UNASKED);
        return;
      }
      this.#becomeIdle();
    } else if (this.#isClosing) this.#endIfDone();
    this.#options.onProgress(this);
  }

  #answer(response: ReceivedResponse): boolean {
    const exchange = this.#pending.shift();
    if (exchange === undefined) {
      this.#misbehaved(UNASKED);
      return false;
    }
    this.#answered += 1;
    exchange.complete(response);
    return true;
  }

  #becomeIdle(): void {
    if (this.#isClosing) {
      this.#socket.destroySoon();
      return;
    }
    this.#idleSince = performance.now();
    this.#idleTimer = setTimeout(() => this.close(), this.#options.idleTimeoutMs).unref();
  }

  #misbehaved(what: string): void {
    const error = new AgtpClientError("ERR_AGTP_RESPONSE", `the peer sent ${what}`);
    this.#isClosing = true;
    this.#error ??= error;
    this.#pending.shift()?.fail(error);
    this.#socket.destroy();
  }

  #connectTimedOut(): void {
    const { peer, connectTimeoutMs } = this.#options;
    this.#error = new AgtpClientError("ERR_AGTP_TIMEOUT", lateConnection(peer, connectTimeoutMs));
    this.#socket.destroy();
  }

  #closed(): void {
    this.#isClosing = true;
    clearTimeout(this.#connectTimer);
    clearTimeout(this.#idleTimer);
    const pending = this.#pending.splice(0);
    const isTurned = this.#answered === 0 && isTurnedAway(this.#error);
    if (!this.#isSecure || isTurned) {
      const error = this.#connectError();
      for (const exchange of pending.splice(0)) exchange.fail(error);
    } else if (this.#parser.end() !== undefined) {
      const message = "the connection closed in the middle of a response";
      pending.shift()?.fail(new AgtpClientError("ERR_AGTP_CLOSED", message, this.#error));
    }
    this.#options.onClosed(this, pending, this.#error);
  }

  #connectError(): AgtpClientError {
    if (this.#error instanceof AgtpClientError) return this.#error;
    return connectionError(this.#options.peer, this.#error);
  }
}
