/**
 * The AGTP servers that tasks are handed on to and taken from, as the operator configured them: each
 * is known by its name, its server id, its address and its key.   AGTP "DELEGATE"
 */
import { compileGrants, type Grants } from "../../identity/authority-scope.ts";
import type { Ed25519PublicKey } from "../../identity/ed25519.ts";

/** The address by which a server is asked. */
export interface PeerAddress {
  readonly host: string;
  readonly port: number;
}

/** The configuration of a peer. */
export interface PeerFacts {
  readonly name: string;
  /** The `iss` and `aud` of its tokens, and what its records say. */
  readonly serverId: string;
  /** Undefined: tasks only come from it. */
  readonly address: PeerAddress | undefined;
  /** Agent-IDs and names: tasks may go to these, and come from these. None: see `vouching.ts`. */
  readonly agents: readonly string[];
  /** The scopes that may be handed on to it, at most. */
  readonly scopes: readonly string[];
  /** The scopes that tasks from it may use, at most. */
  readonly acceptScopes: readonly string[];
  readonly publicKey: Ed25519PublicKey;
  readonly zone: string | undefined;
  readonly timeoutMs: number;
}

/** A peer, ready to be compared with. */
export interface PeerServer extends PeerFacts {
  readonly offered: Grants;
  readonly accepted: Grants;
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
