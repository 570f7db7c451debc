/**
 * A client of one AGTP server. It reuses connections, pipelines on those that the peer keeps open, and reconnects to
 * peers that close after each response. A request whose connection closed before any response is resent once if that
 * is safe.   AGTP "Connection Lifetime"
 */
import { MAX_TIMER_MS } from "../base/deadline.ts";
import { uuidv7 } from "../identity/uuid.ts";
import type { HeaderField } from "../wire/fields.ts";
import { isFieldValue, isToken } from "../wire/header-fields.ts";
import { type OutgoingRequest, serializeRequest } from "../wire/message.ts";
import { DEFAULT_RESPONSE_LIMITS } from "../wire/response-parser.ts";
import type {
  AgtpClient,
  ClientOptions,
  ClientRequest,
  ClientResponse,
  Envelope,
} from "./agtp-client.ts";
import { AgtpClientError } from "./client-error.ts";
import { ClientConnection, type ConnectionOptions } from "./connection.ts";
import { Exchange, readResponse } from "./exchange.ts";

interface BoundedOptions extends ClientOptions {
  /** Names the limit that a response body exceeds; such a body is not parsed and the request fails. */
  readonly excessOf?: (body: Uint8Array) => string | undefined;
}

/** Creates a client; it connects at the first request. */
export function createClient(options: BoundedOptions): AgtpClient {
  return new PooledClient(options);
}

/** The most unanswered requests on one connection; later ones wait. */
const MAX_PIPELINED = 64;

class PooledClient implements AgtpClient {
  readonly #timeoutMs: number;
  readonly #maxConnections: number;
  readonly #excessOf: BoundedOptions["excessOf"];
  readonly #connectionOptions: ConnectionOptions;
  readonly #connections = new Set<ClientConnection>();
  #waiting: Exchange[] = [];
  /** False until the peer has kept a connection open after a response; until then nothing is pipelined. */
  #isPersistentPeer = false;
  #isClosed = false;
  #onEmpty: () => void = () => {};

  constructor(options: BoundedOptions) {
    const { timeoutMs = 30_000, connectTimeoutMs = 10_000, idleTimeoutMs = 30_000 } = options;
    this.#timeoutMs = timeoutMs;
    this.#maxConnections = options.maxConnections ?? 1;
    this.#excessOf = options.excessOf;
    this.#connectionOptions = {
      peer: options,
      limits: options.limits ?? DEFAULT_RESPONSE_LIMITS,
      connectTimeoutMs: Math.min(connectTimeoutMs, MAX_TIMER_MS),
      idleTimeoutMs: Math.min(idleTimeoutMs, MAX_TIMER_MS),
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
    const received = await exchange.response;
    const excess = this.#excessOf?.(received.body);
    if (excess === undefined) return readResponse(received);
    throw new AgtpClientError("ERR_AGTP_RESPONSE", `the response ${excess}`);
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

  /** Assigns waiting requests to connections, in order, while there is room. */
  #assign(): void {
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      const connection = this.#connectionFor(next);
      // A settled request could not even connect; the next ones need not wait for it.
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
      // The peer may be closing it, and a request lost there could not be resent safely.
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

const CONTENT_TYPE = "application/vnd.agtp+json";
/** Visible ASCII without "#", which would begin a fragment. */
const TARGET = /^[\x21\x22\x24-\x7e]+$/;
/** Fields that the serializer writes, or that AGTP lacks. */
const FRAMING_FIELDS: ReadonlySet<string> = new Set(["content-length", "transfer-encoding"]);

/** Floor methods that are safe to resend.   AGTP "Method Summary" */
const IDEMPOTENT_METHODS: ReadonlySet<string> = new Set([
  "QUERY",
  "DISCOVER",
  "DESCRIBE",
  "INSPECT",
  "SUMMARIZE",
  "PLAN",
  "ESCALATE",
  "CONFIRM",
]);

/**
 * Builds the message of a request. Refuses anything that would break the message, or smuggle a second one into it,
 * before a byte is sent.   AGTP "Wire Format"
 */
function buildRequest(request: ClientRequest): OutgoingRequest {
  const { method, path = "/", query } = request;
  if (!isToken(method) || method.includes("#")) {
    const expected = method.startsWith("/")
      ? `: the method comes first, as in QUERY ${method}`
      : "";
    throw refused(`method ${JSON.stringify(method)} is not a token${expected}`);
  }
  const target = query === undefined ? path : `${path}?${query}`;
  if (!TARGET.test(target)) {
    throw refused(`path ${JSON.stringify(target)} has characters that must be percent-encoded`);
  }
  const body = buildBody(request);
  return { method, path, query, headers: buildHeaders(request, body), body };
}

/** True if a request may be resent after its connection closed before any response. */
function isRepeatable(request: OutgoingRequest): boolean {
  return (
    IDEMPOTENT_METHODS.has(request.method) ||
    request.headers.some(([name]) => name.toLowerCase() === "idempotency-key")
  );
}

function buildBody(request: ClientRequest): string | Uint8Array {
  const { method, parameters, body, envelope } = request;
  if (body !== undefined) {
    if (parameters === undefined) return body;
    throw refused("expected parameters or a body, got both");
  }
  if (envelope !== undefined && envelope !== false) {
    const { taskId, sessionId, context } = envelope === true ? {} : (envelope satisfies Envelope);
    return JSON.stringify({
      method,
      task_id: taskId,
      session_id: sessionId,
      parameters: parameters ?? {},
      context,
    });
  }
  return parameters === undefined ? "" : JSON.stringify(parameters);
}

function buildHeaders(request: ClientRequest, body: string | Uint8Array): HeaderField[] {
  const given = request.headers ?? [];
  for (const field of given) checkField(field);
  const names = new Set(given.map(([name]) => name.toLowerCase()));
  const headers: HeaderField[] = [];
  const add = (name: string, value: string | undefined): void => {
    if (value === undefined || names.has(name.toLowerCase())) return;
    checkField([name, value]);
    headers.push([name, value]);
  };
  add("Agent-ID", request.agentId);
  add("Owner-ID", request.ownerId);
  add("Authority-Scope", request.scopes?.join(", "));
  if (!names.has("request-id")) headers.push(["Request-ID", uuidv7()]);
  add("Content-Type", body.length === 0 ? undefined : CONTENT_TYPE);
  return [...headers, ...given];
}

function checkField([name, value]: HeaderField): void {
  if (!isToken(name)) {
    throw refused(`header field name ${JSON.stringify(name)} is not a token`);
  }
  if (FRAMING_FIELDS.has(name.toLowerCase())) {
    throw refused(`header field ${name} is not the caller's to set`);
  }
  if (!isFieldValue(value)) {
    throw refused(`header field ${name} has a control or non-latin1 character in its value`);
  }
}

function refused(message: string): AgtpClientError {
  return new AgtpClientError("ERR_AGTP_REQUEST", message);
}
