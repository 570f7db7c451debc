/**
 * Connections to peers: opened on demand, reused, and bounded for each. Every failure to get an answer is put into
 * AGTP's terms.   AGTP "DELEGATE"
 */
import { within } from "../../base/deadline.ts";
import { Places } from "../../base/fair-shares.ts";
import { ANSWER_BOUNDS, jsonExcess } from "../../base/json-bounds.ts";
import { isRecord } from "../../base/json-value.ts";
import { type TraceFields, tellingOf } from "../../base/leaving.ts";
import type { AgtpClient, ClientOptions } from "../../client/agtp-client.ts";
import { createClient } from "../../client/client.ts";
import { AgtpClientError, type AgtpClientErrorCode } from "../../client/client-error.ts";
import type {
  DelegationFailure,
  WorkOutcome,
} from "../../dispatch/refusals/delegation-refusals.ts";
import { isAgentId } from "../../identity/identifiers.ts";
import { MANIFEST_TYPE, verifyManifest } from "../../identity/manifest-signature.ts";
import type { PeerServer } from "./peers.ts";

/** A request to a peer: DELEGATE on "/". */
export interface PeerMessage {
  readonly agentId: string;
  readonly taskId: string | undefined;
  /** The approval that the request carries for the task's calls. */
  readonly escalationId: string | undefined;
  /** The governance zone that the work stays in. */
  readonly zone: string | undefined;
  /** JSON text; the peer's record has its hash. */
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
      /** `unknown` if the peer may have begun nevertheless. */
      readonly outcome: WorkOutcome;
      readonly message: string;
    };

export interface PeerCaller {
  /** Rejects only for internal faults. */
  call(peer: PeerServer, message: PeerMessage): Promise<PeerAnswer>;
  /** Aborts running calls and closes the connections. */
  close(): Promise<void>;
}

const BOUNDS = {
  limits: { headBytes: 128 * 1024, bodyBytes: 8 * 1024 * 1024 },
  excessOf: (body: Uint8Array): string | undefined => jsonExcess(body, ANSWER_BOUNDS),
};
const CONNECT_TIMEOUT_MS = 10_000;

/** The clients of peers by name, each created at first use. */
class PeerPool {
  readonly #timing: Pick<ClientOptions, "timeoutMs" | "connectTimeoutMs">;
  readonly #clients = new Map<string, AgtpClient>();

  constructor(timing: Pick<ClientOptions, "timeoutMs" | "connectTimeoutMs">) {
    this.#timing = timing;
  }

  /** Returns undefined for a peer without an address. */
  find({ name, address, maxConnections }: PeerServer): AgtpClient | undefined {
    const known = this.#clients.get(name);
    if (known !== undefined || address === undefined) return known;
    const made = createClient({ ...address, maxConnections, ...this.#timing, ...BOUNDS });
    this.#clients.set(name, made);
    return made;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
  }
}

/** Creates the clients of all peers; none connects before its first task. */
export function createPeerClients(): PeerCaller {
  const pool = new PeerPool({ connectTimeoutMs: CONNECT_TIMEOUT_MS });
  const places = new Map<string, Places>();
  const ending = new AbortController();
  return {
    async call(peer, message) {
      const { name, maxConnections } = peer;
      const client = pool.find(peer);
      if (client === undefined) return unanswered("peer-unreachable", "it has no address");
      const ofPeer = places.get(name) ?? new Places(maxConnections);
      places.set(name, ofPeer);
      const leave = ofPeer.take({ key: message.agentId, isKnown: true });
      if (leave === undefined) return unanswered("peer-busy", "too many tasks are under way there");
      try {
        const { signal: left } = message;
        const signals = [left, ending.signal];
        return await tellingOf({ kind: "peer", to: name, operation: "DELEGATE" }, (fields) =>
          within({ signals }, (signal) => ask(client, { ...message, signal }, fields)),
        );
      } catch (error) {
        if (!(error instanceof AgtpClientError)) throw error;
        return FAILURES[error.code];
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
  { agentId, taskId, escalationId, zone, body, timeoutMs, signal }: PeerMessage,
  { traceparent, tracestate }: TraceFields,
): Promise<PeerAnswer> {
  const fields = [
    ["Task-ID", taskId],
    ["Escalation-ID", escalationId],
    ["AGTP-Zone-ID", zone],
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

function unanswered(
  reason: DelegationFailure,
  message: string,
  outcome: WorkOutcome = "not-begun",
): Unanswered {
  return { kind: "unanswered", reason, outcome, message };
}

/**
 * Nothing is sent before the connection is trusted; after that, the state of the work is unknown. The caller does not
 * see addresses or system errors.
 */
const FAILURES: Readonly<Record<AgtpClientErrorCode, Unanswered>> = {
  ERR_AGTP_CONNECT: unanswered("peer-unreachable", "the peer cannot be reached"),
  ERR_AGTP_TLS: unanswered("peer-untrusted", "the peer is not the one that is trusted"),
  ERR_AGTP_URI: unanswered("peer-unreachable", "the peer has no usable address"),
  ERR_AGTP_REQUEST: unanswered("peer-unreachable", "the task cannot be put into a request"),
  ERR_AGTP_TIMEOUT: unanswered("peer-timeout", "the peer did not answer in time", "unknown"),
  ERR_AGTP_CLOSED: unanswered(
    "peer-closed",
    "the peer closed the connection before it answered",
    "unknown",
  ),
  ERR_AGTP_RESPONSE: unanswered("peer-malformed", "the peer's answer is none of AGTP", "unknown"),
  ERR_AGTP_ABORTED: unanswered(
    "aborted",
    "the task was given up before the peer answered",
    "unknown",
  ),
};

/** Names by Agent-ID; undefined if the manifest is unavailable or not verified. */
type ShownAgents = ReadonlyMap<string, string> | undefined;

interface PeerManifests {
  /** Rejects only for internal faults. */
  agentsOf(peer: PeerServer): Promise<ShownAgents>;
  close(): Promise<void>;
}

const KEPT_MS = 60_000;
/** How long a failure is kept, so that not every task asks an unresponsive peer again. */
const FAILURE_KEPT_MS = 1_000;
const TIMEOUT_MS = 5_000;

interface Asked {
  readonly agents: Promise<ShownAgents>;
  expiresAt: number;
}

/**
 * Reads the agents in peers' manifests. A manifest is fetched when a task arrives from an agent that no entry lists,
 * verified with the peer's key, and cached for a minute. It has connections of its own, because a task that waits for
 * its answer would otherwise block the manifest.   AGTP-API §8.8
 */
export function createPeerManifests(): PeerManifests {
  const pool = new PeerPool({ timeoutMs: TIMEOUT_MS, connectTimeoutMs: TIMEOUT_MS });
  const asked = new Map<string, Asked>();

  return {
    agentsOf(peer) {
      const known = asked.get(peer.name);
      if (known !== undefined && known.expiresAt > performance.now()) return known.agents;
      const agents = readAgents(pool.find(peer), peer);
      const entry: Asked = { agents, expiresAt: Number.POSITIVE_INFINITY };
      asked.set(peer.name, entry);
      const keepFor = (ms: number): void => {
        entry.expiresAt = performance.now() + ms;
      };
      // The caller of `agentsOf` receives the fault.
      void agents.then(
        (shown) => keepFor(shown === undefined ? FAILURE_KEPT_MS : KEPT_MS),
        () => keepFor(FAILURE_KEPT_MS),
      );
      return agents;
    },
    close: () => pool.close(),
  };
}

async function readAgents(
  client: AgtpClient | undefined,
  { serverId, publicKey }: PeerServer,
): Promise<ShownAgents> {
  try {
    const headers = [["Accept", MANIFEST_TYPE]] as const;
    const answer = await client?.request({ method: "DISCOVER", path: "/", headers });
    if (answer?.status !== 200 || !isRecord(answer.body)) return undefined;
    const { body: manifest } = answer;
    if (verifyManifest(manifest, publicKey).kind !== "verified") return undefined;
    const { server, hosted_agents: agents } = manifest;
    if (!isRecord(server) || server["server_id"] !== serverId) return undefined;
    return Array.isArray(agents) ? new Map(agents.flatMap(entryOf)) : undefined;
  } catch (error) {
    if (error instanceof AgtpClientError) return undefined;
    throw error;
  }
}

function entryOf(agent: unknown): readonly (readonly [string, string])[] {
  if (!isRecord(agent)) return [];
  const { agent_id: agentId, name } = agent;
  if (typeof agentId !== "string" || !isAgentId(agentId)) return [];
  return [[agentId, typeof name === "string" ? name : ""]];
}
