/**
 * All contracts of this server, by id and by who may call what. What is over leaves a tombstone until
 * `contract_ttl_seconds` after it would have expired anyway, so that its owner learns why it does not
 * answer. Every change is in the store before anybody hears of it.   AGTP-API §10.1.1, §10.1.4
 */
import { isRecord } from "../json-value.ts";
import type { Change, Store } from "../store/store.ts";
import type { Contract, ContractState } from "./contract.ts";
import { ContractHoldings } from "./contract-holdings.ts";

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
  | { readonly kind: "usable" | "over"; readonly contract: Contract }
  | { readonly kind: "unknown" | "foreign" };

const COLLECTION = "contracts";
/** How long after one sweep the next contract that is added brings on another. */
const SWEEP_EVERY_MS = 60_000;

export class ContractRegister {
  readonly #options: ContractRegisterOptions;
  readonly #contracts = new Map<string, Contract>();
  readonly #holdings = new ContractHoldings();
  #sweptAt = Number.NEGATIVE_INFINITY;

  private constructor(options: ContractRegisterOptions) {
    this.#options = options;
  }

  /** Opens the register of a store. */
  static async open(options: ContractRegisterOptions): Promise<ContractRegister> {
    const register = new ContractRegister(options);
    const stored = await options.store.list(COLLECTION);
    const contracts = stored.flatMap(({ value }) => readContract(value) ?? []);
    for (const contract of contracts.sort((left, right) => left.issuedAt - right.issuedAt)) {
      register.#remember(contract, sizeOf(contract));
    }
    await register.sweep();
    return register;
  }

  /** Any contract, whatever its state; one whose time is over is `expired`, and then forgotten. */
  find(synthesisId: string): Contract | undefined {
    const contract = this.#contracts.get(synthesisId);
    if (contract === undefined || this.#isForgotten(contract)) return undefined;
    if (!this.#isOutOfTime(contract)) return contract;
    return { ...contract, state: "expired", reason: "its time is over" };
  }

  /** What presenting a contract comes to for an agent. */
  present(synthesisId: string, agentId: string | undefined): Presented {
    const contract = this.find(synthesisId);
    if (contract === undefined) return { kind: "unknown" };
    if (contract.agentId !== agentId) return { kind: "foreign" };
    return isOpen(contract) ? { kind: "usable", contract } : { kind: "over", contract };
  }

  /** Every contract that can be called or accepted; the oldest first. */
  open(): readonly Contract[] {
    return [...this.#contracts.keys()].flatMap((id) => this.find(id) ?? []).filter(isOpen);
  }

  /** The active contracts of an agent, or of all of them; the newest first. */
  active(agentId?: string): readonly Contract[] {
    const ids = agentId === undefined ? this.#contracts.keys() : this.#holdings.idsOf(agentId);
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
    const overdue = this.#now() - this.#sweptAt >= SWEEP_EVERY_MS ? this.#takeForgotten() : [];
    const size = sizeOf(contract);
    const { agentId } = contract;
    const evicted = this.#holdings.surplus(agentId, size, (id) => rankOf(this.find(id)));
    this.#remember(contract, size);
    try {
      await this.#options.store.commit([
        ...[...overdue, ...evicted].map(deletion),
        { kind: "put", collection: COLLECTION, key: contract.synthesisId, value: contract },
      ]);
    } catch (error) {
      this.#forget(contract.synthesisId);
      throw error;
    }
    // Not before: what made room for a contract that could not be kept would be lost with it.
    for (const id of evicted) this.#forget(id);
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

  /** Forgets contracts altogether: presenting one is answered as if it had never been. */
  async evict(synthesisIds: readonly string[]): Promise<void> {
    const known = synthesisIds.filter((id) => this.#contracts.has(id));
    if (known.length === 0) return;
    for (const id of known) this.#forget(id);
    await this.#options.store.commit(known.map(deletion));
  }

  /** Forgets the tombstones whose time is over. */
  async sweep(): Promise<void> {
    const gone = this.#takeForgotten();
    if (gone.length > 0) await this.#options.store.commit(gone.map(deletion));
  }

  #takeForgotten(): readonly string[] {
    this.#sweptAt = this.#now();
    const gone = [...this.#contracts.values()].filter((contract) => this.#isForgotten(contract));
    for (const { synthesisId } of gone) this.#forget(synthesisId);
    return gone.map(({ synthesisId }) => synthesisId);
  }

  #now(): number {
    return this.#options.now?.() ?? Date.now();
  }

  #isOutOfTime(contract: Contract): boolean {
    return isOpen(contract) && contract.expiresAt <= this.#now();
  }

  #isForgotten({ expiresAt }: Contract): boolean {
    return expiresAt + this.#options.tombstoneMs() < this.#now();
  }

  #remember(contract: Contract, size: number): void {
    this.#contracts.set(contract.synthesisId, contract);
    this.#holdings.add(contract.agentId, contract.synthesisId, size);
  }

  #forget(synthesisId: string): void {
    const contract = this.#contracts.get(synthesisId);
    if (contract === undefined) return;
    this.#contracts.delete(synthesisId);
    this.#holdings.delete(contract.agentId, synthesisId);
  }
}

/** Whether a contract can be called or accepted, as far as its state says. */
export function isOpen({ state }: Contract): boolean {
  return state === "active" || state === "offered";
}

function deletion(key: string): Change {
  return { kind: "delete", collection: COLLECTION, key };
}

function sizeOf(contract: Contract): number {
  return JSON.stringify(contract).length;
}

/** What makes room first: what is over, then offers, then what a session may do without. */
function rankOf(contract: Contract | undefined): number {
  if (contract === undefined || !isOpen(contract)) return 0;
  if (contract.state === "offered") return 1;
  return contract.isPersistent ? 3 : 2;
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
