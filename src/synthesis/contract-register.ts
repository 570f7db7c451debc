/**
 * All contracts of this server, by id and by who may call what. What is over leaves a tombstone until
 * `contract_ttl_seconds` after it would have expired anyway, so that its owner learns why it does not
 * answer. Every change is in the store before anybody hears of it.   AGTP-API §10.1.1, §10.1.4
 */
import { isRecord } from "../json-value.ts";
import type { Store } from "../store/store.ts";
import type { Contract, ContractState } from "./contract.ts";

/** What the register needs of its surroundings. */
export interface ContractRegisterOptions {
  readonly store: Store;
  /** How long a tombstone outlives the contract's expiry, in milliseconds. */
  tombstoneMs(): number;
  /** Milliseconds since the epoch. */
  now?(): number;
}

/** How one presented contract stands. */
export type Presented =
  | { readonly kind: "usable"; readonly contract: Contract }
  | { readonly kind: "unknown" | "foreign" | "over" };

const COLLECTION = "contracts";
/** Of one agent's contracts the oldest offers make room for new ones. */
const PER_AGENT = 1_000;

export class ContractRegister {
  readonly #options: ContractRegisterOptions;
  readonly #contracts = new Map<string, Contract>();
  /** By agent, the oldest first. */
  readonly #byAgent = new Map<string, Set<string>>();

  private constructor(options: ContractRegisterOptions) {
    this.#options = options;
  }

  /** Opens the register of a store. */
  static async open(options: ContractRegisterOptions): Promise<ContractRegister> {
    const register = new ContractRegister(options);
    const stored = await options.store.list(COLLECTION);
    const contracts = stored.flatMap(({ value }) => readContract(value) ?? []);
    for (const contract of contracts.sort((left, right) => left.issuedAt - right.issuedAt)) {
      register.#remember(contract);
    }
    await register.sweep();
    return register;
  }

  /** Any contract, whatever its state; one whose time is over is `expired`. */
  find(synthesisId: string): Contract | undefined {
    const contract = this.#contracts.get(synthesisId);
    if (contract === undefined || !this.#isOutOfTime(contract)) return contract;
    return { ...contract, state: "expired", reason: "its time is over" };
  }

  /** What presenting a contract comes to for an agent. */
  present(synthesisId: string, agentId: string | undefined): Presented {
    const contract = this.find(synthesisId);
    if (contract === undefined) return { kind: "unknown" };
    if (contract.agentId !== agentId) return { kind: "foreign" };
    const isUsable = contract.state === "active" || contract.state === "offered";
    return isUsable ? { kind: "usable", contract } : { kind: "over" };
  }

  /** Every contract that can be called or accepted; the oldest first. */
  open(): readonly Contract[] {
    return [...this.#contracts.keys()]
      .flatMap((id) => this.find(id) ?? [])
      .filter(({ state }) => state === "active" || state === "offered");
  }

  /** The active contracts of an agent, or of all of them; the newest first. */
  active(agentId?: string): readonly Contract[] {
    const ids = agentId === undefined ? this.#contracts.keys() : (this.#byAgent.get(agentId) ?? []);
    return [...ids]
      .flatMap((id) => this.find(id) ?? [])
      .filter(({ state }) => state === "active")
      .reverse();
  }

  get size(): number {
    return this.#contracts.size;
  }

  /** Keeps a new contract. */
  async add(contract: Contract): Promise<void> {
    const evicted = this.#makeRoom(contract.agentId);
    await this.#options.store.commit([
      ...evicted.map((key) => ({ kind: "delete", collection: COLLECTION, key }) as const),
      { kind: "put", collection: COLLECTION, key: contract.synthesisId, value: contract },
    ]);
    for (const key of evicted) this.#forget(key);
    this.#remember(contract);
  }

  /** Moves a contract on; undefined when it is not there any more. */
  async change(
    synthesisId: string,
    state: ContractState,
    reason?: string,
  ): Promise<Contract | undefined> {
    const contract = this.#contracts.get(synthesisId);
    if (contract === undefined) return undefined;
    const changed: Contract = { ...contract, state, ...(reason === undefined ? {} : { reason }) };
    // At once: a contract that is revoked must not be called while the disk is slow.
    this.#contracts.set(synthesisId, changed);
    const change = {
      kind: "put",
      collection: COLLECTION,
      key: synthesisId,
      value: changed,
    } as const;
    await this.#options.store.commit([change]);
    return changed;
  }

  /** Forgets a contract altogether: presenting it is answered as if it had never been. */
  async evict(synthesisId: string): Promise<void> {
    if (!this.#contracts.has(synthesisId)) return;
    this.#forget(synthesisId);
    const key = synthesisId;
    await this.#options.store.commit([{ kind: "delete", collection: COLLECTION, key }]);
  }

  /** Forgets the tombstones whose time is over. */
  async sweep(): Promise<void> {
    const limit = this.#now() - this.#options.tombstoneMs();
    const gone = [...this.#contracts.values()].filter(({ expiresAt }) => expiresAt < limit);
    if (gone.length === 0) return;
    for (const { synthesisId } of gone) this.#forget(synthesisId);
    await this.#options.store.commit(
      gone.map(({ synthesisId: key }) => ({ kind: "delete", collection: COLLECTION, key })),
    );
  }

  #now(): number {
    return this.#options.now?.() ?? Date.now();
  }

  #isOutOfTime({ state, expiresAt }: Contract): boolean {
    return (state === "active" || state === "offered") && expiresAt <= this.#now();
  }

  /** Which contracts a full agent loses: what is over first, then offers, then the oldest. */
  #makeRoom(agentId: string): readonly string[] {
    const ids = this.#byAgent.get(agentId);
    if (ids === undefined || ids.size < PER_AGENT) return [];
    const own = [...ids].flatMap((id) => this.find(id) ?? []);
    const victim =
      own.find(({ state }) => state !== "active" && state !== "offered") ??
      own.find(({ state }) => state === "offered") ??
      own[0];
    return victim === undefined ? [] : [victim.synthesisId];
  }

  #remember(contract: Contract): void {
    this.#contracts.set(contract.synthesisId, contract);
    const ids = this.#byAgent.get(contract.agentId) ?? new Set();
    this.#byAgent.set(contract.agentId, ids.add(contract.synthesisId));
  }

  #forget(synthesisId: string): void {
    const contract = this.#contracts.get(synthesisId);
    if (contract === undefined) return;
    this.#contracts.delete(synthesisId);
    const ids = this.#byAgent.get(contract.agentId);
    ids?.delete(synthesisId);
    if (ids?.size === 0) this.#byAgent.delete(contract.agentId);
  }
}

/** What this register stored itself; anything else is not a contract. */
function readContract(value: unknown): Contract | undefined {
  if (!isRecord(value)) return undefined;
  const { synthesisId, agentId, endpoint, plan, expiresAt, issuedAt, state } = value;
  const isWhole =
    typeof synthesisId === "string" &&
    typeof agentId === "string" &&
    isRecord(endpoint) &&
    isRecord(plan) &&
    typeof issuedAt === "number" &&
    typeof expiresAt === "number" &&
    typeof state === "string";
  return isWhole ? (value as unknown as Contract) : undefined;
}
