/**
 * All contracts of this server, by id and by who may call what. What is over leaves a tombstone until
 * `contract_ttl_seconds` after it would have expired anyway, so that its owner learns why it does not
 * answer. Every change is in the store before anybody hears of it.   AGTP-API §10.1.1, §10.1.4
 */

import type { Contract, ContractState } from "../../endpoint/contract.ts";
import { matchTemplate } from "../../endpoint/endpoint-registry.ts";
import { Collection } from "../collection.ts";
import type { Quota } from "../quota.ts";
import { recordReader } from "../records/stored-record.ts";
import type { Store } from "../store.ts";

interface ContractRegisterOptions {
  readonly store: Store;
  /** How long a tombstone outlives the contract's expiry, in milliseconds. */
  readonly tombstoneMs: number;
  /** Milliseconds since the epoch. */
  now?(): number;
}

/** The outcome of a change; `contract` is undefined when it is not there any more. */
interface ContractChange {
  readonly contract: Contract | undefined;
  /** False: it was over already, or stood so. */
  readonly isChanged: boolean;
}

/** How one presented contract stands. */
export type Presented =
  | { readonly kind: "usable"; readonly contract: Contract }
  | { readonly kind: "over"; readonly contract: Contract }
  | { readonly kind: "unknown" | "foreign" };

/** An agent that negotiates without end makes room with its own contracts, never with another's. */
const QUOTA: Quota = { perOwner: 1_000, charactersPerOwner: 16 * 1024 * 1024 };

/** How often the contracts of each agent have changed, and who hears of it. */
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

  /** Any contract, whatever its state; one whose time is over is `expired`, and then forgotten. */
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

  /** Each contract that can be called or accepted, in its turn, as there may be very many; the oldest first. */
  *eachOpen(): Generator<Contract> {
    for (const contract of this.#contracts.each()) {
      if (isOpen(asItIs(contract, this.now()))) yield contract;
    }
  }

  /** The active contracts of an agent, the newest first. */
  active(agentId: string): readonly Contract[] {
    return this.#asTheyAre(this.#contracts.ofOwner(agentId))
      .filter(({ state }) => state === "active")
      .reverse();
  }

  /** The newest active contract of an agent for a pair, among as many as it may have. */
  activeFor(agentId: string, { method, path }: Pair): Contract | undefined {
    // Most agents have none: every 404 asks.
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

  /** Lists an agent's contracts that can be called or accepted, the newest first. */
  openOf(agentId: string): readonly Contract[] {
    return this.#asTheyAre(this.#contracts.ofOwner(agentId)).filter(isOpen).reverse();
  }

  /** Lists all contracts and offers that an agent has had in a session, in order: the end of one may not be stored yet. */
  ofSession(agentId: string, sessionId: string): readonly Contract[] {
    const own = this.#asTheyAre(this.#contracts.ofOwner(agentId));
    return own.filter((one) => one.sessionId === sessionId);
  }

  /** Lists an agent's contracts that are no offers, also what is over and remembered; the oldest first. */
  ofAgent(agentId: string): readonly Contract[] {
    const own = this.#asTheyAre(this.#contracts.ofOwner(agentId));
    return own.filter(({ state }) => state !== "offered");
  }

  /** Another number whenever a contract of the agent has become another; time alone changes none. */
  revisionOf(agentId: string): number {
    return this.#followed.revisions.get(agentId) ?? 0;
  }

  /** Hears of each agent whose contracts have changed. Returns the end of it. */
  watch(watcher: (agentId: string) => void): () => void {
    this.#followed.watchers.add(watcher);
    return () => this.#followed.watchers.delete(watcher);
  }

  /** Milliseconds since the epoch, as the register tells what is over. */
  now(): number {
    return this.#contracts.now();
  }

  /** Keeps a new contract, and answers it; or the one that is kept by its id. */
  async add(contract: Contract): Promise<Contract> {
    const adding = await this.#contracts.add(contract.synthesisId, contract);
    await this.#contracts.everywhere(contract.synthesisId);
    return adding.kind === "taken" ? adding.item : contract;
  }

  /** Moves a contract on that is not over; resolves once that, or how it stood already, holds on every node. */
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
      // A contract that is revoked must not be called while the disk is slow.
      { isEarly: state !== "active" },
    );
    await this.#contracts.everywhere(synthesisId);
    return { contract: item && asItIs(item, this.now()), isChanged };
  }

  /** Ends an offer; one that was accepted meanwhile, on whichever node, goes on. */
  async decline(synthesisId: string, reason: string): Promise<void> {
    await this.#contracts.change(synthesisId, (contract) =>
      contract.state === "offered" ? { ...contract, state: "released", reason } : undefined,
    );
    await this.#contracts.everywhere(synthesisId);
  }

  /**
   * Forgets contracts altogether, on every node: presenting one is answered as if it had never been. Answers
   * those that were forgotten by this: another node may have been first.
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
/** Stands for every path with parameters, which no request names as it is written. */
const TEMPLATE = "{}";

function groupOf(agentId: string, { method, path }: Pair): string {
  return `${agentId} ${method} ${path.includes("{") ? TEMPLATE : path}`;
}

function asItIs(contract: Contract, now: number): Contract {
  if (!isOpen(contract) || contract.expiresAt > now) return contract;
  return { ...contract, state: "expired", reason: "its time is over" };
}

/** Tells whether a contract's state lets it be called or accepted. */
export function isOpen({ state }: Contract): boolean {
  return state === "active" || state === "offered";
}

/** Evicts contracts that are over first, then offers, then those that a session may do without. */
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
