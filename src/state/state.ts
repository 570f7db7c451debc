/**
 * Everything that outlives a configuration: the store, the ledger, and the registers over them.
 * Opened once for a daemon, and kept through every reload.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import { ForwardClock } from "../base/forward-clock.ts";
import { type Holders, SOLE_HOLDER } from "./holders.ts";
import type { Retention } from "./journal/retention.ts";
import { ExportRefusal, exportState } from "./moving/export-state.ts";
import type { NodeFigures } from "./node-figures.ts";
import type { Ledger } from "./records/ledger.ts";
import { type LedgerOptions, openLedger } from "./records/open-ledger.ts";
import { CertificateRegister } from "./registers/certificate-register.ts";
import { ContractRegister } from "./registers/contract-register.ts";
import { EscalationRegister } from "./registers/escalation-register.ts";
import { IdempotencyRegister } from "./registers/idempotency-register.ts";
import { LifecycleRegister } from "./registers/lifecycle-register.ts";
import { SessionRegister } from "./registers/session-register.ts";
import { SuspensionRegister } from "./registers/suspension-register.ts";
import type { Store } from "./store.ts";
import { exceptStoreFaults } from "./store-fault.ts";

export interface ServerState {
  readonly store: Store;
  /** The time by which authority ends. */
  readonly clock: ForwardClock;
  readonly ledger: Ledger;
  /** The lease by which gates may rely on what they look up. */
  readonly view: ViewLease;
  /** The processes that hold work of this store. */
  readonly holders: Holders;
  readonly lifecycle: LifecycleRegister;
  readonly certificates: CertificateRegister;
  /** The sessions of callers, each its holder's alone. */
  readonly sessions: SessionRegister;
  readonly idempotency: IdempotencyRegister;
  readonly contracts: ContractRegister;
  /** Matters that agents wait for people to decide. */
  readonly escalations: EscalationRegister;
  /** Sessions that may not be used. */
  readonly suspensions: SuspensionRegister;
  /** Keeps the journal within limits; undefined where there is none. */
  readonly retention: Retention | undefined;
  /** Stores what the records so far have led to, and the last uses of sessions. */
  save(): Promise<void>;
  /** Everything that is kept, as the lines of a file; a consistent cut beside what goes on. */
  exported(serverId: string): AsyncIterable<string>;
  /** Keeps what is pending and closes everything, the store too. */
  close(): Promise<void>;
}

/** Tells how long this process may serve from what it has in memory. */
export interface ViewLease {
  /** False once other nodes may have changed something that this one has not heard of. */
  readonly isFresh: boolean;
  /** The processes that work is taken over from; without it, no other works. */
  readonly holders?: Holders;
  /** The name of this process among the nodes; undefined where there can be no others. */
  readonly node?: string;
  /** Resolves once the store is known to have lost what was acknowledged. */
  readonly lost?: Promise<void>;
  /**
   * Takes in what was committed so far, for all who ask at the same time at once; settled after a bounded
   * time in any case. Rejects with StoreUnavailableError where it is not known what that is. Without it,
   * nobody else commits.
   */
  catchUp?(): Promise<void>;
  /**
   * Has something done whenever the store may be an older one, before this process serves from it, and when
   * another process is gone.
   */
  whenAnew?(restore: () => Promise<void>): void;
  /** Every node that has been heard of lately, this one included. */
  nodes?(): Promise<readonly NodeEntry[]>;
  /** How this node is; without this, there are no others. */
  figures?(): NodeFigures;
}

/** A node, as the others know it. */
export interface NodeEntry {
  readonly node: string;
  readonly address: string;
  readonly version: string;
  /** RFC 3339. */
  readonly since: string;
  readonly state: "live" | "silent";
  /** The rest of its lease, by the store's clock. */
  readonly leaseMs: number;
}

/** Nobody else changes anything. */
const ALONE: ViewLease = { isFresh: true };

export interface StateOptions extends Omit<LedgerOptions, "beforeCheckpoint"> {
  readonly view?: ViewLease;
  /** How long a contract that is over is known as one; an hour without it. */
  readonly tombstoneMs?: number;
  /** The one that the registers beside this state read as well; at least as late as every record. */
  readonly clock?: ForwardClock;
}

const TOMBSTONE_MS = 3_600_000;

/** Opens the state over a store, which it takes over. */
export async function openState(options: StateOptions): Promise<ServerState> {
  const { store, onFault, clock = new ForwardClock(options.now) } = options;
  const { tombstoneMs = TOMBSTONE_MS, view = ALONE } = options;
  const { now } = clock;
  let lifecycle: LifecycleRegister | undefined;
  const beforeCheckpoint = async (): Promise<void> => lifecycle?.save();
  const opened = await openLedger({ ...options, beforeCheckpoint });
  clock.reach(opened.newestAt);
  const register = await LifecycleRegister.open(store, opened.events);
  lifecycle = register;
  view.whenAnew?.(async () => register.replay((await options.shared?.latestEvents?.()) ?? []));
  // Not before: what the events led to is in the store by now.
  await opened.checkpoint();
  const certificates = await CertificateRegister.open(store);
  const sessions = await SessionRegister.open(store, { now, onFault: exceptStoreFaults(onFault) });
  const save = async (): Promise<void> => {
    // A record that was heard to be kept in this turn has led to something once the turn is over.
    await nextTurn();
    await sessions.save();
    await lifecycle.save();
  };
  return {
    store,
    clock,
    ledger: opened.ledger,
    retention: opened.retention,
    view,
    holders: view.holders ?? SOLE_HOLDER,
    lifecycle,
    certificates,
    sessions,
    idempotency: await IdempotencyRegister.open(store, { now }),
    contracts: await ContractRegister.open({ store, tombstoneMs, now }),
    escalations: await EscalationRegister.open(store, { now }),
    suspensions: await SuspensionRegister.open(store, { now }),
    save,
    exported: async function* (serverId) {
      await save();
      if (options.shared?.exported !== undefined) {
        yield* options.shared.exported(serverId);
        return;
      }
      const records = opened.exported;
      if (records === undefined) throw new ExportRefusal("this store cannot be exported");
      await opened.checkpoint();
      yield* exportState({ serverId, store, records });
    },
    close: async () => {
      try {
        await sessions.save().catch(exceptStoreFaults(onFault));
        await opened.close();
      } finally {
        await store.close();
      }
    },
  };
}
