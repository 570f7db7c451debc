/**
 * The agents that peers say are theirs: each peer's manifest, asked for when a task arrives from an
 * agent that nobody has listed, signed by the peer's key, and kept for a minute.
 * AGTP-API §8.8, AGTP "DELEGATE"
 */

import { isRecord } from "../../base/json-value.ts";
import type { AgtpClient } from "../../client/agtp-client.ts";
import { AgtpClientError } from "../../client/client-error.ts";
import { isAgentId } from "../../identity/identifiers.ts";
import { MANIFEST_TYPE, verifyManifest } from "../../identity/manifest-signature.ts";
import { PeerPool } from "./peer-clients.ts";
import type { PeerConnection, PeerServer } from "./peers.ts";

/** Names by Agent-ID; undefined: the manifest cannot be had, or proves nothing. */
type ShownAgents = ReadonlyMap<string, string> | undefined;

interface PeerManifests {
  /** Never rejects. */
  agentsOf(peer: PeerServer): Promise<ShownAgents>;
  close(): Promise<void>;
}

const KEPT_MS = 60_000;
/** A peer that does not answer is not asked again with each of its tasks. */
const FAILURE_KEPT_MS = 1_000;
const TIMEOUT_MS = 5_000;

interface Asked {
  readonly agents: Promise<ShownAgents>;
  expiresAt: number;
}

/** Asks over connections of its own, lest a task that waits for an answer keep the answer back. */
export function createPeerManifests(
  connections: ReadonlyMap<string, PeerConnection>,
  now: () => number = () => performance.now(),
): PeerManifests {
  const timing = { timeoutMs: TIMEOUT_MS, connectTimeoutMs: TIMEOUT_MS };
  const pool = new PeerPool(connections, timing);
  const asked = new Map<string, Asked>();

  return {
    agentsOf(peer) {
      const known = asked.get(peer.name);
      if (known !== undefined && known.expiresAt > now()) return known.agents;
      const agents = readAgents(pool.find(peer.name), peer);
      const entry: Asked = { agents, expiresAt: Number.POSITIVE_INFINITY };
      asked.set(peer.name, entry);
      void agents.then((shown) => {
        entry.expiresAt = now() + (shown === undefined ? FAILURE_KEPT_MS : KEPT_MS);
      });
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
