/** `[[peers]]` as the program works with them: keys read, addresses taken apart, PEM files loaded. */
import { relative } from "node:path";
import { readBoundedFile } from "../../base/bounded-file.ts";
import type { Problem } from "../../base/problem.ts";
import { reasonOf } from "../../base/thrown.ts";
import { parseUri } from "../../client/uri.ts";
import { readPublicKey } from "../../identity/ed25519.ts";
import type { DelegationSections, PeerConfig } from "./config.ts";
import type { PeerConnection } from "./peer-clients.ts";
import type { PeerAddress, PeerFacts } from "./peers.ts";

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
    const { name, serverId, agents, scopes, acceptScopes, zone, timeoutSeconds } = peer;
    const timeoutMs = timeoutSeconds * 1000;
    facts.push({
      ...{ name, serverId, address, agents, scopes, acceptScopes },
      ...{ publicKey, zone, timeoutMs },
    });
    if (address !== undefined) connections.set(name, connectionOf(peer, address));
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
