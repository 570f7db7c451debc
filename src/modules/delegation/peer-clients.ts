/**
 * The connections to peers: made when they are needed, kept while they are used, and so many of each.
 * Every way in which an answer does not come is put into AGTP's words.   AGTP "DELEGATE"
 */
import { within } from "../../base/deadline.ts";
import { Places } from "../../base/fair-shares.ts";
import { type TraceFields, tellingOf } from "../../base/leaving.ts";
import type { AgtpClient } from "../../client/agtp-client.ts";
import { createClient } from "../../client/client.ts";
import { AgtpClientError, type AgtpClientErrorCode } from "../../client/client-error.ts";
import type {
  DelegationFailure,
  WorkOutcome,
} from "../../dispatch/refusals/delegation-refusals.ts";
import type { PeerConnection, PeerServer } from "./peers.ts";

/** The request that is sent: DELEGATE on "/". */
export interface PeerMessage {
  readonly agentId: string;
  readonly taskId: string | undefined;
  /** The approval that the request brings for what is done. */
  readonly escalationId: string | undefined;
  /** JSON; the peer's record has its hash. */
  readonly body: string;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** An answer as it was received, or why there is none. */
export type PeerAnswer =
  | {
      readonly kind: "answered";
      readonly status: number;
      readonly body: unknown;
      readonly text: string;
      readonly auditId: string | undefined;
      readonly record: string | undefined;
    }
  | {
      readonly kind: "unanswered";
      readonly reason: DelegationFailure;
      /** True if the peer may have begun all the same. */
      readonly outcome: WorkOutcome;
      readonly message: string;
    };

/** Sends to peers. */
export interface PeerCaller {
  /** Never rejects. */
  call(peer: PeerServer, message: PeerMessage): Promise<PeerAnswer>;
  /** Ends what is under way. */
  close(): Promise<void>;
}

const LIMITS = { headBytes: 128 * 1024, bodyBytes: 8 * 1024 * 1024 };
const CONNECT_TIMEOUT_MS = 10_000;

/** The clients of peers by name, each made when it is first needed. */
export class PeerPool {
  readonly #connections: ReadonlyMap<string, PeerConnection>;
  readonly #options: { readonly timeoutMs?: number; readonly connectTimeoutMs: number };
  readonly #clients = new Map<string, AgtpClient>();

  constructor(
    connections: ReadonlyMap<string, PeerConnection>,
    options: { readonly timeoutMs?: number; readonly connectTimeoutMs: number },
  ) {
    this.#connections = connections;
    this.#options = options;
  }

  /** Undefined for a peer without an address. */
  find(name: string): AgtpClient | undefined {
    const known = this.#clients.get(name);
    const connection = this.#connections.get(name);
    if (known !== undefined || connection === undefined) return known;
    const { maxConnections: _, ...peer } = connection;
    const made = createClient({ ...peer, ...this.#options, limits: LIMITS });
    this.#clients.set(name, made);
    return made;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
  }
}

/** Clients of all peers, by name; none is connected before its first task. */
export function createPeerClients(connections: ReadonlyMap<string, PeerConnection>): PeerCaller {
  const pool = new PeerPool(connections, { connectTimeoutMs: CONNECT_TIMEOUT_MS });
  const places = new Map<string, Places>();
  const ending = new AbortController();
  const placesOf = (name: string): Places => {
    const known = places.get(name) ?? new Places(connections.get(name)?.maxConnections ?? 0);
    places.set(name, known);
    return known;
  };

  return {
    async call({ name }, message) {
      const client = pool.find(name);
      if (client === undefined) {
        return unanswered("peer-unreachable", "not-begun", "it has no address");
      }
      const leave = placesOf(name).take({ key: message.agentId, isKnown: true });
      if (leave === undefined) {
        return unanswered("peer-busy", "not-begun", "too many tasks are under way there");
      }
      try {
        const { signal: left } = message;
        const signals = [left, ending.signal];
        return await tellingOf({ kind: "peer", to: name, operation: "DELEGATE" }, (fields) =>
          within({ signals }, (signal) => ask(client, { ...message, signal }, fields)),
        );
      } catch (error) {
        return explain(error);
      } finally {
        leave();
      }
    },
    async close() {
      ending.abort();
      await pool.close();
    },
  };
}

async function ask(
  client: AgtpClient,
  { agentId, taskId, escalationId, body, timeoutMs, signal }: PeerMessage,
  { traceparent, tracestate }: TraceFields,
): Promise<PeerAnswer> {
  const fields = [
    ["Task-ID", taskId],
    ["Escalation-ID", escalationId],
    ["traceparent", traceparent],
    ["tracestate", tracestate],
  ] as const;
  const {
    status,
    headers,
    body: read,
    text,
  } = await client.request({
    method: "DELEGATE",
    agentId,
    body,
    timeoutMs,
    signal,
    headers: fields.flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    ),
  });
  return {
    kind: "answered",
    ...{ status, body: read, text },
    auditId: headers.get("audit-id"),
    record: headers.get("attribution-record"),
  };
}

type Unanswered = Extract<PeerAnswer, { readonly kind: "unanswered" }>;

/** Before a connection is trusted nothing is sent; after that, nobody knows what was begun. */
const REASONS: Readonly<Record<AgtpClientErrorCode, Omit<Unanswered, "kind" | "message">>> = {
  ERR_AGTP_CONNECT: { reason: "peer-unreachable", outcome: "not-begun" },
  ERR_AGTP_TLS: { reason: "peer-untrusted", outcome: "not-begun" },
  ERR_AGTP_URI: { reason: "peer-unreachable", outcome: "not-begun" },
  ERR_AGTP_REQUEST: { reason: "peer-unreachable", outcome: "not-begun" },
  ERR_AGTP_TIMEOUT: { reason: "peer-timeout", outcome: "unknown" },
  ERR_AGTP_CLOSED: { reason: "peer-closed", outcome: "unknown" },
  ERR_AGTP_RESPONSE: { reason: "peer-malformed", outcome: "unknown" },
  ERR_AGTP_ABORTED: { reason: "aborted", outcome: "unknown" },
};

/** The caller learns what happened; addresses and what the system said stay here. */
const MESSAGES: Readonly<Record<AgtpClientErrorCode, string>> = {
  ERR_AGTP_CONNECT: "the peer cannot be reached",
  ERR_AGTP_TLS: "the peer is not the one that is trusted",
  ERR_AGTP_URI: "the peer has no usable address",
  ERR_AGTP_REQUEST: "the task cannot be put into a request",
  ERR_AGTP_TIMEOUT: "the peer did not answer in time",
  ERR_AGTP_CLOSED: "the peer closed the connection before it answered",
  ERR_AGTP_RESPONSE: "the peer's answer is none of AGTP",
  ERR_AGTP_ABORTED: "the task was given up before the peer answered",
};

function explain(error: unknown): Unanswered {
  if (!(error instanceof AgtpClientError)) throw error;
  const { reason, outcome } = REASONS[error.code];
  return unanswered(reason, outcome, MESSAGES[error.code]);
}

function unanswered(
  reason: Unanswered["reason"],
  outcome: Unanswered["outcome"],
  message: string,
): Unanswered {
  return { kind: "unanswered", reason, outcome, message };
}
