/**
 * The contracts of this server, by id and by agent and endpoint. An ended contract leaves a tombstone until
 * `contract_ttl_seconds` after its expiry, so that its owner learns why it no longer answers. Every change is stored
 * before it is announced. AGTP-API §10.1.1, §10.1.4
 */

import type { Contract, ContractState } from "../../endpoint/contract.ts";
import { matchTemplate } from "../../endpoint/endpoint-registry.ts";
import { Collection } from "../collection.ts";
import type { Quota } from "../quota.ts";
import { recordReader } from "../records/stored-record.ts";
import type { Store } from "../store.ts";

interface ContractRegisterOptions {
  readonly store: Store;
  /** How long a tombstone is kept after the contract's expiry, in milliseconds. */
  readonly tombstoneMs: number;
  /** Milliseconds since the epoch. */
  now?(): number;
}

/** The outcome of a change; `contract` is undefined if it no longer exists. */
interface ContractChange {
  readonly contract: Contract | undefined;
  /** False if the contract had ended, or was in that state already. */
  readonly isChanged: boolean;
}

/** The state of a presented contract. */
export type Presented =
  | { readonly kind: "usable"; readonly contract: Contract }
  | { readonly kind: "over"; readonly contract: Contract }
  | { readonly kind: "unknown" | "foreign" };

/** An agent that negotiates endlessly evicts its own contracts only. */
const QUOTA: Quota = { perOwner: 1_000, charactersPerOwner: 16 * 1024 * 1024 };

/** The number of changes to each agent's contracts, and the watchers. */
interface Followed {
  readonly revisions: Map<string, number>;
  readonly watchers: Set<(agentId: string) => void>;
}

function follow({ revisions, watchers }: Followed, contract: Contract | undefined): void {
  if (contract === undefined) return;
  const { agentId } = contract;
  revisions.set(agentId, (revisions.get(agentId) ?? 0) + 1);
  for (const watcher of watchers) watcher(agentId);
}

export class ContractRegister {
  readonly #contracts: Collection<Contract>;
  readonly #followed: Followed;

  private constructor(contracts: Collection<Contract>, followed: Followed) {
    this.#contracts = contracts;
    this.#followed = followed;
  }

  static async open(options: ContractRegisterOptions): Promise<ContractRegister> {
    const { store, tombstoneMs, now = Date.now } = options;
    const followed: Followed = { revisions: new Map(), watchers: new Set() };
    const contracts = await Collection.open(store, {
      name: "contracts",
      read: readContract,
      ownerOf: ({ agentId }) => agentId,
      orderOf: ({ issuedAt }) => issuedAt,
      groups: { [PAIR]: ({ agentId, endpoint }) => groupOf(agentId, endpoint) },
      forgottenAt: ({ expiresAt }) => expiresAt + tombstoneMs,
      quota: QUOTA,
      rankOf: (contract, at) => rankOf(asItIs(contract, at)),
      now,
      onChange: (before, after) => follow(followed, after ?? before),
    });
    return new ContractRegister(contracts, followed);
  }

  /** Returns a contract in any state; one past its expiry is `expired`, and later deleted. */
  find(synthesisId: string): Contract | undefined {
    const contract = this.#contracts.get(synthesisId);
    return contract && asItIs(contract, this.#contracts.now());
  }

  /** Looks up a contract that an agent presents. */
  present(synthesisId: string, agentId: string | undefined): Presented {
    const contract = this.find(synthesisId);
    if (contract === undefined) return { kind: "unknown" };
    if (contract.agentId !== agentId) return { kind: "foreign" };
    return isOpen(contract) ? { kind: "usable", contract } : { kind: "over", contract };
  }

  /** Iterates lazily over the contracts that are active or offered, oldest first, as there may be very many. */
  *eachOpen(): Generator<Contract> {
    for (const contract of this.#contracts.each()) {
      if (isOpen(asItIs(contract, this.now()))) yield contract;
    }
  }

  /** Returns an agent's active contracts, newest first. */
  active(agentId: string): readonly Contract[] {
    return this.#asTheyAre(this.#contracts.ofOwner(agentId))
      .filter(({ state }) => state === "active")
      .reverse();
  }

  /** Returns an agent's newest active contract for a method and path. */
  activeFor(agentId: string, { method, path }: Pair): Contract | undefined {
    // Most agents have none, and every 404 asks here.
    if (!this.#contracts.hasOwner(agentId)) return undefined;
    const exact = this.#contracts.inGroup(PAIR, groupOf(agentId, { method, path }));
    const templates = this.#contracts.inGroup(PAIR, groupOf(agentId, { method, path: TEMPLATE }));
    const answering = this.#asTheyAre([...exact, ...templates]).filter(
      ({ state, endpoint }) =>
        state === "active" && matchTemplate(endpoint.path, path) !== undefined,
    );
    return answering.reduce<Contract | undefined>(
      (newest, one) => (newest === undefined || one.issuedAt >= newest.issuedAt ? one : newest),
      undefined,
    );
  }

  /** Returns an agent's active and offered contracts, newest first. */
  openOf(agentId: string): readonly Contract[] {
    return this.#asTheyAre(this.#contracts.ofOwner(agentId)).filter(isOpen).reverse();
  }

  /**
   * Returns an agent's contracts and offers of a session, in order, ended ones included, since an end may not be
   * stored yet.
   */
  ofSession(agentId: string, sessionId: string): readonly Contract[] {
    const own = this.#asTheyAre(this.#contracts.ofOwner(agentId));
    return own.filter((one) => one.sessionId === sessionId);
  }

  /** Returns an agent's contracts other than offers, oldest first, ended ones included while remembered. */
  ofAgent(agentId: string): readonly Contract[] {
    const own = this.#asTheyAre(this.#contracts.ofOwner(agentId));
    return own.filter(({ state }) => state !== "offered");
  }

  /** Returns a number that grows with every change to the agent's contracts; expiry alone does not change it. */
  revisionOf(agentId: string): number {
    return this.#followed.revisions.get(agentId) ?? 0;
  }

  /** Calls the watcher with each agent whose contracts change. Returns a function that ends this. */
  watch(watcher: (agentId: string) => void): () => void {
    this.#followed.watchers.add(watcher);
    return () => this.#followed.watchers.delete(watcher);
  }

  /** Returns milliseconds since the epoch by the clock that decides expiry. */
  now(): number {
    return this.#contracts.now();
  }

  /** Adds a contract and returns it, or the one already stored under its id. */
  async add(contract: Contract): Promise<Contract> {
    const adding = await this.#contracts.add(contract.synthesisId, contract);
    await this.#contracts.everywhere(contract.synthesisId);
    return adding.kind === "taken" ? adding.item : contract;
  }

  /** Moves an open contract to another state; resolves once its current state is known to every node. */
  async change(
    synthesisId: string,
    state: ContractState,
    reason?: string,
  ): Promise<ContractChange> {
    const { item, isChanged } = await this.#contracts.change(
      synthesisId,
      (contract) => {
        if (!isOpen(asItIs(contract, this.now())) || contract.state === state) return undefined;
        return { ...contract, state, ...(reason === undefined ? {} : { reason }) };
      },
      // A revoked contract must not be callable while the disk is slow.
      { isEarly: state !== "active" },
    );
    await this.#contracts.everywhere(synthesisId);
    return { contract: item && asItIs(item, this.now()), isChanged };
  }

  /** Declines an offer; if it was accepted meanwhile, on any node, the contract stays. */
  async decline(synthesisId: string, reason: string): Promise<void> {
    await this.#contracts.change(synthesisId, (contract) =>
      contract.state === "offered" ? { ...contract, state: "released", reason } : undefined,
    );
    await this.#contracts.everywhere(synthesisId);
  }

  /**
   * Deletes contracts on every node, so that presenting one is answered as if it had never existed. Returns the ids
   * deleted by this call, as another node may have been first.
   */
  evict(synthesisIds: readonly string[]): Promise<ReadonlySet<string>> {
    return this.#contracts.deleteEverywhere(synthesisIds);
  }

  #asTheyAre(contracts: readonly Contract[]): Contract[] {
    return contracts.map((contract) => asItIs(contract, this.#contracts.now()));
  }
}

type Pair = Pick<Contract["endpoint"], "method" | "path">;

const PAIR = "pair";
/** Stands for every path with parameters; no request path contains it. */
const TEMPLATE = "{}";

function groupOf(agentId: string, { method, path }: Pair): string {
  return `${agentId} ${method} ${path.includes("{") ? TEMPLATE : path}`;
}

function asItIs(contract: Contract, now: number): Contract {
  if (!isOpen(contract) || contract.expiresAt > now) return contract;
  return { ...contract, state: "expired", reason: "its time is over" };
}

/** True if a contract can be called or accepted. */
export function isOpen({ state }: Contract): boolean {
  return state === "active" || state === "offered";
}

/** Evicts ended contracts first, then offers, then non-persistent contracts. */
function rankOf(contract: Contract): number {
  if (!isOpen(contract)) return 0;
  if (contract.state === "offered") return 1;
  return contract.isPersistent ? 3 : 2;
}

const readContract = recordReader<Contract>({
  synthesisId: "string",
  agentId: "string",
  endpoint: "object",
  plan: "object",
  issuedAt: "number",
  expiresAt: "number",
  state: "string",
});
