/**
 * A client of one AGTP server. Reuses connections, pipelines on those that the peer keeps open, and
 * reconnects to peers that close after each response. A request whose connection closed before any
 * answer is sent once more if that is safe.   AGTP "Connection Lifetime"
 */
import { DEFAULT_RESPONSE_LIMITS } from "../wire/response-parser.ts";
import { serializeRequest } from "../wire/serialize.ts";
import type { AgtpClient, ClientOptions, ClientRequest, ClientResponse } from "./agtp-client.ts";
import { AgtpClientError } from "./client-error.ts";
import { ClientConnection, type ConnectionOptions } from "./connection.ts";
import { Exchange } from "./exchange.ts";
import { buildRequest, isRepeatable } from "./request.ts";
import { readResponse } from "./response.ts";

/** No connection is made before the first request. */
export function createClient(options: ClientOptions): AgtpClient {
  return new PooledClient(options);
}

/** Beyond this many unanswered requests on one connection, the next ones wait. */
const MAX_PIPELINED = 64;

class PooledClient implements AgtpClient {
  readonly #timeoutMs: number;
  readonly #maxConnections: number;
  readonly #connectionOptions: ConnectionOptions;
  readonly #connections = new Set<ClientConnection>();
  #waiting: Exchange[] = [];
  /** Until a peer has shown that it keeps connections open, one request at a time is sent on each. */
  #isPersistentPeer = false;
  #isClosed = false;
  #onEmpty: () => void = () => {};

  constructor(options: ClientOptions) {
    const { timeoutMs = 30_000, connectTimeoutMs = 10_000, idleTimeoutMs = 30_000 } = options;
    this.#timeoutMs = timeoutMs;
    this.#maxConnections = options.maxConnections ?? 1;
    this.#connectionOptions = {
      peer: options,
      limits: options.limits ?? DEFAULT_RESPONSE_LIMITS,
      connectTimeoutMs,
      idleTimeoutMs,
      onProgress: () => this.#assign(),
      onClosed: (connection, lost, error) => this.#closed(connection, lost, error),
    };
  }

  async request(request: ClientRequest): Promise<ClientResponse> {
    const { signal, timeoutMs = this.#timeoutMs } = request;
    const message = buildRequest(request);
    if (this.#isClosed) throw new AgtpClientError("ERR_AGTP_CLOSED", "the client is closed");
    if (signal?.aborted) {
      throw new AgtpClientError("ERR_AGTP_ABORTED", "the caller aborted it", signal.reason);
    }
    const exchange = new Exchange(
      { bytes: serializeRequest(message), isRepeatable: isRepeatable(message) },
      { timeoutMs, signal },
      (abandoned) => this.#abandoned(abandoned),
    );
    this.#waiting.push(exchange);
    this.#assign();
    return readResponse(await exchange.response);
  }

  close(): Promise<void> {
    this.#isClosed = true;
    return new Promise((resolve) => {
      const earlier = this.#onEmpty;
      this.#onEmpty = () => {
        earlier();
        resolve();
      };
      this.#assign();
    });
  }

  /** Gives waiting requests to connections, in order, as long as there is room. */
  #assign(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const connection = next.isSettled ? undefined : this.#connectionFor(next);
      // Settled: it could not even be tried, which is no reason for the next ones to wait.
      if (connection === undefined && !next.isSettled) return;
      this.#waiting.shift();
      connection?.send(next);
    }
    if (!this.#isClosed) return;
    for (const connection of this.#connections) connection.close();
    if (this.#connections.size === 0) this.#onEmpty();
  }

  #connectionFor(exchange: Exchange): ClientConnection | undefined {
    const usable = [...this.#connections].filter((connection) => connection.isUsable);
    this.#isPersistentPeer ||= usable.some((connection) => connection.isProvenPersistent);
    const idle = usable.find((connection) => connection.pendingCount === 0);
    if (idle !== undefined) {
      if (this.#isPersistentPeer || exchange.isRepeatable) return idle;
      // The peer may be about to close it, and then nobody could tell whether to ask again.
      idle.close();
      return this.#connect(exchange);
    }
    if (usable.length < this.#maxConnections) return this.#connect(exchange);
    if (!this.#isPersistentPeer) return undefined;
    return usable
      .filter((connection) => connection.pendingCount < MAX_PIPELINED)
      .sort((one, other) => one.pendingCount - other.pendingCount)[0];
  }

  #connect(exchange: Exchange): ClientConnection | undefined {
    try {
      const connection = new ClientConnection(this.#connectionOptions);
      this.#connections.add(connection);
      return connection;
    } catch (error) {
      exchange.fail(error as AgtpClientError);
      return undefined;
    }
  }

  #closed(connection: ClientConnection, lost: readonly Exchange[], error: unknown): void {
    this.#connections.delete(connection);
    if (lost.length > 0 || !connection.isProvenPersistent) this.#isPersistentPeer = false;
    const again = lost.filter((exchange) => exchange.isRepeatable && !exchange.wasRepeated);
    for (const exchange of again) exchange.wasRepeated = true;
    for (const exchange of lost) {
      if (again.includes(exchange)) continue;
      const message = "the connection closed before an answer, and it is not safe to ask again";
      exchange.fail(new AgtpClientError("ERR_AGTP_CLOSED", message, error));
    }
    this.#waiting = [...again, ...this.#waiting].filter((exchange) => !exchange.isSettled);
    this.#assign();
  }

  #abandoned(exchange: Exchange): void {
    this.#waiting = this.#waiting.filter((waiting) => waiting !== exchange);
    for (const connection of this.#connections) connection.abandon(exchange);
    this.#assign();
  }
}
