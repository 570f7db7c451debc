/**
 * Peers: the configured AGTP servers that tasks are delegated to and taken from, each with its name, server id,
 * address and key.   AGTP "DELEGATE"
 */

import { relative } from "node:path";
import { readBoundedFile } from "../../base/bounded-file.ts";
import type { Problem } from "../../base/problem.ts";
import { reasonOf } from "../../base/thrown.ts";
import type { Peer } from "../../client/agtp-client.ts";
import { parseUri } from "../../client/uri.ts";
import { readConfiguredCa } from "../../endpoint/upstream-ca.ts";
import { compileGrants, type Grants } from "../../identity/authority-scope.ts";
import { readPair } from "../../identity/certificate-pair.ts";
import { type Ed25519PublicKey, readPublicKey } from "../../identity/ed25519.ts";
import type { DelegationSections, PeerConfig } from "./config.ts";

/** A peer, with its configured address, key and scopes parsed. */
export interface PeerServer
  extends Pick<PeerConfig, "name" | "serverId" | "agents" | "maxConnections"> {
  /** Undefined: the peer sends tasks and takes none. */
  readonly address: Peer | undefined;
  readonly publicKey: Ed25519PublicKey;
  readonly zone: string | undefined;
  readonly timeoutMs: number;
  /** The scopes that may be delegated to it, at most. */
  readonly offered: Grants;
  /** The scopes that its tasks may use, at most. */
  readonly accepted: Grants;
}

export class PeerDirectory {
  readonly #peers: readonly PeerServer[];

  constructor(peers: readonly PeerServer[]) {
    this.#peers = peers;
  }

  findByName(name: string): PeerServer | undefined {
    return this.#peers.find((peer) => peer.name === name);
  }

  findByServerId(serverId: string): PeerServer | undefined {
    return this.#peers.find((peer) => peer.serverId === serverId);
  }

  findByAddress({ host, port }: Pick<Peer, "host" | "port">): PeerServer | undefined {
    const wanted = host.toLowerCase();
    return this.#peers.find(
      ({ address }) => address?.port === port && address.host.toLowerCase() === wanted,
    );
  }

  /** Tells whether another peer's entry lists an agent. */
  listsElsewhere(agent: string, peer: PeerServer): boolean {
    return this.#peers.some((other) => other !== peer && other.agents.includes(agent));
  }

  /** The peer to ask for an agent that is named without a server. */
  findByAgent(agent: string): PeerServer | undefined {
    return this.#peers.find(
      ({ address, agents }) => address !== undefined && agents.includes(agent),
    );
  }
}

/** The peers, and the problems of their configuration. */
interface PeerSettings {
  readonly peers: readonly PeerServer[];
  readonly problems: readonly Problem[];
}

const MAX_PEM_BYTES = 1024 * 1024;

/** Reads all peers. */
export function readPeers({ peers: written, directory, file }: DelegationSections): PeerSettings {
  const peers: PeerServer[] = [];
  const problems: Problem[] = [];
  for (const [index, peer] of written.entries()) {
    const keyOf = (key: string): string => `peers[${index}].${key}`;
    const report: Report = (key, message) => {
      problems.push({ file: relative(directory, file), key: keyOf(key), message });
    };
    const publicKey = readPublicKey(peer.publicKey);
    if (publicKey === undefined) report("public_key", "must be an Ed25519 public key");
    const { ca, problems: faults } = readConfiguredCa(peer.ca, keyOf("ca"), { directory, file });
    problems.push(...faults);
    const shown = readShown(peer, report);
    const address = peer.uri === undefined ? undefined : readAddress(peer.uri, peer, report);
    if (publicKey === undefined) continue;
    const { zone, timeoutSeconds } = peer;
    const offered = compileGrants(peer.scopes);
    const accepted = compileGrants(peer.acceptScopes);
    const timeoutMs = timeoutSeconds * 1000;
    const reached = address && { ...address, ca, ...shown };
    peers.push({ ...peer, address: reached, publicKey, zone, timeoutMs, offered, accepted });
  }
  return { peers, problems };
}

type Report = (key: string, message: string) => void;

function readAddress(
  uri: string,
  { fingerprint }: PeerConfig,
  report: Report,
): Pick<Peer, "host" | "port" | "fingerprint"> | undefined {
  try {
    const { host, port } = parseUri(uri);
    return { host, port, fingerprint: fingerprint?.replaceAll(":", "").toLowerCase() };
  } catch (error) {
    report("uri", reasonOf(error));
    return undefined;
  }
}

/** Reads this server's certificate for the peer; the configuration check has reported missing files. */
function readShown(
  { cert: certFile, key: keyFile }: PeerConfig,
  report: Report,
): Pick<Peer, "cert" | "key"> {
  const [cert, key] = [certFile, keyFile].map((path) =>
    path === undefined ? undefined : readBoundedFile(path, MAX_PEM_BYTES).text,
  );
  if (cert === undefined || key === undefined) return {};
  readPair({ cert, key }, report);
  return { cert, key };
}
