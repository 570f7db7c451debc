/**
 * The agents that peers say are theirs: each peer's manifest, asked for when a task arrives from an
 * agent that nobody has listed, signed by the peer's key, and kept for a minute.
 * AGTP-API §8.8, AGTP "DELEGATE"
 */

import { isRecord } from "../../base/json-value.ts";
import type { AgtpClient } from "../../client/agtp-client.ts";
import { createClient } from "../../client/client.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import { isAgentId } from "../../identity/identifiers.ts";
import { MANIFEST_TYPE, verifyManifest } from "../../identity/manifest-signature.ts";
import type { PeerConnection, PeerServer } from "./peers.ts";

/** Names by Agent-ID; undefined: the manifest cannot be had, or proves nothing. */
type ShownAgents = ReadonlyMap<string, string> | undefined;

/** The manifests of peers. */
interface PeerManifests {
  /** Never rejects. */
  agentsOf(peer: PeerServer): Promise<ShownAgents>;
  close(): Promise<void>;
}

const KEPT_MS = 60_000;
/** A peer that does not answer is not asked again with each of its tasks. */
const FAILURE_KEPT_MS = 1_000;
const TIMEOUT_MS = 5_000;
const LIMITS = { headBytes: 128 * 1024, bodyBytes: 8 * 1024 * 1024 };

interface Asked {
  readonly agents: Promise<ShownAgents>;
  expiresAt: number;
}

/** Asks over connections of its own, lest a task that waits for an answer keep the answer back. */
export function createPeerManifests(
  connections: ReadonlyMap<string, PeerConnection>,
  now: () => number = () => performance.now(),
): PeerManifests {
  const clients = new Map<string, AgtpClient>();
  const asked = new Map<string, Asked>();

  const clientOf = ({ name }: PeerServer): AgtpClient | undefined => {
    const known = clients.get(name);
    const connection = connections.get(name);
    if (known !== undefined || connection === undefined) return known;
    const { maxConnections: _, ...peer } = connection;
    const timing = { timeoutMs: TIMEOUT_MS, connectTimeoutMs: TIMEOUT_MS };
    const made = createClient({ ...peer, ...timing, limits: LIMITS });
    clients.set(name, made);
    return made;
  };

  return {
    agentsOf(peer) {
      const known = asked.get(peer.name);
      if (known !== undefined && known.expiresAt > now()) return known.agents;
      const agents = readAgents(clientOf(peer), peer);
      const entry: Asked = { agents, expiresAt: Number.POSITIVE_INFINITY };
      asked.set(peer.name, entry);
      void agents.then((shown) => {
        entry.expiresAt = now() + (shown === undefined ? FAILURE_KEPT_MS : KEPT_MS);
      });
      return agents;
    },
    async close() {
      await Promise.all([...clients.values()].map((client) => client.close()));
    },
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
