/**
 * The client library as programs use it. These declarations are published, and
 * so none of them is of Node.
 */
import type { CallSignal } from "../base/abort-signal.ts";
import type { HeaderField, HeaderFields, ResponseLimits } from "../wire/fields.ts";

/** The server that a client connects to, and the authorities that it trusts there. */
export interface Peer {
  readonly host: string;
  readonly port: number;
  /** PEM; instead of the authorities that Node trusts. */
  readonly ca?: string | Uint8Array | undefined;
  /** PEM; the client's own certificate and key, both or neither. */
  readonly cert?: string | Uint8Array | undefined;
  readonly key?: string | Uint8Array | undefined;
  /** False trusts anybody; default true. */
  readonly rejectUnauthorized?: boolean | undefined;
  /** SHA-256 of the one certificate that is trusted, lower-case hex; its issuer is not asked about. */
  readonly fingerprint?: string | undefined;
}

/** The server to talk to, and how patiently. */
export interface ClientOptions extends Peer {
  /** From a call to its whole response; default 30 s. */
  readonly timeoutMs?: number;
  /** For TCP and TLS together; default 10 s. */
  readonly connectTimeoutMs?: number;
  /**
   * The time that an unused connection is kept; default 30 s, half of what servers wait at least.
   */
  readonly idleTimeoutMs?: number;
  /** Default 1: everything is answered in the order in which it was asked. */
  readonly maxConnections?: number;
  readonly limits?: ResponseLimits;
}

/** Requests to one server. */
export interface AgtpClient {
  /** The response, whatever its status; rejects with AgtpClientError when there is none. */
  request(request: ClientRequest): Promise<ClientResponse>;
  /** Takes no more requests, and resolves when those under way are settled. */
  close(): Promise<void>;
}

/** A request as a caller writes it; `parameters` or `body`, not both. */
export interface ClientRequest {
  readonly method: string;
  /** Sent as it is, percent-encoded by the caller; default "/". */
  readonly path?: string | undefined;
  /** Without the "?", percent-encoded by the caller. */
  readonly query?: string | undefined;
  readonly headers?: readonly HeaderField[] | undefined;
  /** Sent as JSON, plain or in the envelope. */
  readonly parameters?: unknown;
  /** Sent as it is. */
  readonly body?: string | Uint8Array | undefined;
  /** Sends `{method, task_id, session_id, parameters, context}` instead of the plain parameters. */
  readonly envelope?: Envelope | boolean | undefined;
  readonly agentId?: string | undefined;
  readonly ownerId?: string | undefined;
  readonly scopes?: readonly string[] | undefined;
  readonly signal?: CallSignal | undefined;
  /** From the call to the whole response; default as the client's. */
  readonly timeoutMs?: number | undefined;
}

/** An envelope's members beside the parameters. */
export interface Envelope {
  readonly taskId?: string;
  readonly sessionId?: string;
  readonly context?: Readonly<Record<string, unknown>>;
}

/** Any status is a result: 262 is a refusal and 261 is pending, so ranges mean nothing. */
export interface ClientResponse {
  readonly status: number;
  /** Informational: nothing may be decided by it. */
  readonly statusText: string;
  readonly headers: HeaderFields;
  /**
   * The body when it is JSON; undefined when it is not, or empty, or has more than 512 levels or 1,048,576 lists and
   * objects.
   */
  readonly body: unknown;
  /** The body as UTF-8. */
  readonly text: string;
  /** The body as it came. */
  readonly bytes: Uint8Array;
}
