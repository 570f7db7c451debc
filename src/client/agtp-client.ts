/** The client library's public types. They are published, so none of them refers to Node's types. */
import type { CallSignal } from "../base/abort-signal.ts";
import type { HeaderField, HeaderFields, ResponseLimits } from "../wire/fields.ts";

/** The server that a client connects to, and the authorities trusted for it. */
export interface Peer {
  readonly host: string;
  readonly port: number;
  /** PEM; replaces the authorities that Node trusts. */
  readonly ca?: string | Uint8Array | undefined;
  /** PEM; the client's own certificate; `cert` and `key` are given together or not at all. */
  readonly cert?: string | Uint8Array | undefined;
  readonly key?: string | Uint8Array | undefined;
  /** False disables the check of the server's certificate; default true. */
  readonly rejectUnauthorized?: boolean | undefined;
  /** SHA-256 of the only trusted certificate, lower-case hex; its issuer is not checked. */
  readonly fingerprint?: string | undefined;
}

/** The server of a client, with its timeouts and limits. */
export interface ClientOptions extends Peer {
  /** From the call to the complete response; default 30 s. */
  readonly timeoutMs?: number;
  /** For TCP and TLS together; default 10 s. */
  readonly connectTimeoutMs?: number;
  /** How long an idle connection is kept; default 30 s, half of the shortest idle timeout of servers. */
  readonly idleTimeoutMs?: number;
  /** Default 1: responses arrive in request order. */
  readonly maxConnections?: number;
  readonly limits?: ResponseLimits;
}

/** A client of one server. */
export interface AgtpClient {
  /** Resolves with the response, of any status; rejects with AgtpClientError if there is none. */
  request(request: ClientRequest): Promise<ClientResponse>;
  /** Refuses new requests, and resolves once those in flight are settled. */
  close(): Promise<void>;
}

/** A request as a caller gives it, with `parameters` or `body`, not both. */
export interface ClientRequest {
  readonly method: string;
  /** Sent as it is, percent-encoded by the caller; default "/". */
  readonly path?: string | undefined;
  /** Without the "?", percent-encoded by the caller. */
  readonly query?: string | undefined;
  readonly headers?: readonly HeaderField[] | undefined;
  /** Sent as JSON, plain or in an envelope. */
  readonly parameters?: unknown;
  /** Sent as it is. */
  readonly body?: string | Uint8Array | undefined;
  /** Sends `{method, task_id, session_id, parameters, context}` instead of the plain parameters. */
  readonly envelope?: Envelope | boolean | undefined;
  readonly agentId?: string | undefined;
  readonly ownerId?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly signal?: CallSignal | undefined;
  /** From the call to the complete response; default: the client's. */
  readonly timeoutMs?: number | undefined;
}

/** An envelope's members beside the parameters. */
export interface Envelope {
  readonly taskId?: string;
  readonly sessionId?: string;
  readonly context?: Readonly<Record<string, unknown>>;
}

/** A response of any status: 262 is a refusal and 261 is pending, so status ranges mean nothing. */
export interface ClientResponse {
  readonly status: number;
  /** Informational: no decision may rest on it. */
  readonly statusText: string;
  readonly headers: HeaderFields;
  /**
   * The parsed body if it is JSON; undefined if it is not, is empty, or exceeds 512 levels or 1,048,576 arrays and
   * objects.
   */
  readonly body: unknown;
  /** The body decoded as UTF-8. */
  readonly text: string;
  /** The raw body. */
  readonly bytes: Uint8Array;
}
