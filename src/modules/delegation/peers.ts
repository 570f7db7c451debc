/**
 * The AGTP servers that tasks are handed on to and taken from, as the operator configured them: each
 * is known by its name, its server id, its address and its key.   AGTP "DELEGATE"
 */

import { relative } from "node:path";
import { readBoundedFile } from "../../base/bounded-file.ts";
import type { Problem } from "../../base/problem.ts";
import { reasonOf } from "../../base/thrown.ts";
import type { Peer } from "../../client/agtp-client.ts";
import { parseUri } from "../../client/uri.ts";
import { compileGrants, type Grants } from "../../identity/authority-scope.ts";
import { type Ed25519PublicKey, readPublicKey } from "../../identity/ed25519.ts";
import type { DelegationSections, PeerConfig } from "./config.ts";

/** The address by which a server is asked. */
export interface PeerAddress {
  readonly host: string;
  readonly port: number;
}

/** The configuration of a peer. */
export interface PeerFacts
  extends Pick<PeerConfig, "name" | "serverId" | "agents" | "scopes" | "acceptScopes"> {
  /** Undefined: tasks only come from it. */
  readonly address: PeerAddress | undefined;
  readonly publicKey: Ed25519PublicKey;
  readonly zone: string | undefined;
  readonly timeoutMs: number;
}

/** A peer, ready to be compared with. */
export interface PeerServer extends PeerFacts {
  readonly offered: Grants;
  readonly accepted: Grants;
}

/** Options of the connection to a peer. */
export interface PeerConnection extends Peer {
  readonly maxConnections: number;
}

/** All peers. */
export class PeerDirectory {
  readonly #peers: readonly PeerServer[];

  constructor(facts: readonly PeerFacts[]) {
    this.#peers = facts.map((one) => ({
      ...one,
      offered: compileGrants(one.scopes),
      accepted: compileGrants(one.acceptScopes),
    }));
  }

  findByName(name: string): PeerServer | undefined {
    return this.#peers.find((peer) => peer.name === name);
  }

  findByServerId(serverId: string): PeerServer | undefined {
    return this.#peers.find((peer) => peer.serverId === serverId);
  }

  findByAddress({ host, port }: PeerAddress): PeerServer | undefined {
    const wanted = host.toLowerCase();
    return this.#peers.find(
      ({ address }) => address?.port === port && address.host.toLowerCase() === wanted,
    );
  }

  /** Tells whether another peer's entry lists an agent, and this one's does not. */
  listsElsewhere(agent: string, peer: PeerServer): boolean {
    return this.#peers.some((other) => other !== peer && other.agents.includes(agent));
  }

  /** The peer that is asked for an agent, where nothing but the agent is named. */
  findByAgent(agent: string): PeerServer | undefined {
    return this.#peers.find(
      ({ address, agents }) => address !== undefined && agents.includes(agent),
    );
  }
}

/** The peers, and what is wrong with those that are left out. */
interface PeerSettings {
  readonly facts: readonly PeerFacts[];
  /** By name. */
  readonly connections: ReadonlyMap<string, PeerConnection>;
  readonly problems: readonly Problem[];
}

const MAX_PEM_BYTES = 1024 * 1024;

/** Reads all peers. */
export function readPeers({ peers, directory, file }: DelegationSections): PeerSettings {
  const facts: PeerFacts[] = [];
  const connections = new Map<string, PeerConnection>();
  const problems: Problem[] = [];
  for (const [index, peer] of peers.entries()) {
    const report = (key: string, message: string): void => {
      problems.push({ file: relative(directory, file), key: `peers[${index}].${key}`, message });
    };
    const publicKey = readPublicKey(peer.publicKey);
    if (publicKey === undefined) report("public_key", "must be an Ed25519 public key");
    const address = peer.uri === undefined ? undefined : readAddress(peer.uri, report);
    if (publicKey === undefined) continue;
    const { zone, timeoutSeconds } = peer;
    facts.push({ ...peer, address, publicKey, zone, timeoutMs: timeoutSeconds * 1000 });
    if (address !== undefined) connections.set(peer.name, connectionOf(peer, address));
  }
  return { facts, connections, problems };
}

function readAddress(
  uri: string,
  report: (key: string, message: string) => void,
): PeerAddress | undefined {
  try {
    const { host, port } = parseUri(uri);
    return { host, port };
  } catch (error) {
    report("uri", reasonOf(error));
    return undefined;
  }
}

/** The configuration's check has made sure that a file that is named can be read. */
function connectionOf(peer: PeerConfig, { host, port }: PeerAddress): PeerConnection {
  const { ca, cert, key, fingerprint, maxConnections } = peer;
  return {
    ...{ host, port, maxConnections },
    ca: textOf(ca),
    cert: textOf(cert),
    key: textOf(key),
    fingerprint: fingerprint?.replaceAll(":", "").toLowerCase(),
  };
}

function textOf(path: string | undefined): string | undefined {
  return path === undefined ? undefined : readBoundedFile(path, MAX_PEM_BYTES).text;
}
