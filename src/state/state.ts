/**
 * State that outlives a configuration: the store, the ledger, and the registers over them. Opened once per daemon,
 * and kept across reloads.
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
  /** The clock by which authority expires. */
  readonly clock: ForwardClock;
  readonly ledger: Ledger;
  /** The lease under which gates may rely on local lookups. */
  readonly view: ViewLease;
  /** The processes that hold work in this store. */
  readonly holders: Holders;
  readonly lifecycle: LifecycleRegister;
  readonly certificates: CertificateRegister;
  /** The sessions of callers, each used by its holder only. */
  readonly sessions: SessionRegister;
  readonly idempotency: IdempotencyRegister;
  readonly contracts: ContractRegister;
  /** Matters that wait for a human decision. */
  readonly escalations: EscalationRegister;
  /** Suspended sessions. */
  readonly suspensions: SuspensionRegister;
  /** Keeps the journal within its limits; undefined if there is no journal. */
  readonly retention: Retention | undefined;
  /** Stores the effects of the records so far, and the last uses of sessions. */
  save(): Promise<void>;
  /** Yields the exported state as lines of a file: a consistent cut, taken while requests go on. */
  exported(serverId: string): AsyncIterable<string>;
  /** Saves pending changes and closes everything, including the store. */
  close(): Promise<void>;
}

/** How long this process may serve from its memory. */
export interface ViewLease {
  /** False once other nodes may have made changes unknown to this one. */
  readonly isFresh: boolean;
  /** The processes whose work may be taken over; undefined if there are no others. */
  readonly holders?: Holders;
  /** The name of this process among the nodes; undefined if there are no others. */
  readonly node?: string;
  /** Resolves once the store is known to have lost acknowledged data. */
  readonly lost?: Promise<void>;
  /**
   * Reads everything committed so far, once for concurrent callers; settles after a bounded time. Rejects with
   * StoreUnavailableError if that cannot be known. Undefined if nobody else commits.
   */
  catchUp?(): Promise<void>;
  /**
   * Runs `restore` whenever the store may be an older copy, before this process serves from it, and when another
   * process is gone.
   */
  whenAnew?(restore: () => Promise<void>): void;
  /** Returns the nodes seen lately, including this one. */
  nodes?(): Promise<readonly NodeEntry[]>;
  /** Returns this node's figures; undefined if there are no others. */
  figures?(): NodeFigures;
}

/** A node as others see it. */
export interface NodeEntry {
  readonly node: string;
  readonly address: string;
  readonly version: string;
  /** RFC 3339. */
  readonly since: string;
  readonly state: "live" | "silent";
  /** The remaining time of its lease, by the store's clock. */
  readonly leaseMs: number;
}

/** The lease of a store that nobody else changes. */
const ALONE: ViewLease = { isFresh: true };

export interface StateOptions extends Omit<LedgerOptions, "beforeCheckpoint"> {
  readonly view?: ViewLease;
  /** How long an ended contract stays known as ended; default: an hour. */
  readonly tombstoneMs?: number;
  /** The clock shared with registers outside this state; never behind the newest record. */
  readonly clock?: ForwardClock;
}

const TOMBSTONE_MS = 3_600_000;

/** Opens the state over a store, and takes ownership of the store. */
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
  // Only now is the effect of the events stored.
  await opened.checkpoint();
  const certificates = await CertificateRegister.open(store);
  const sessions = await SessionRegister.open(store, { now, onFault: exceptStoreFaults(onFault) });
  const save = async (): Promise<void> => {
    // A record acknowledged in this turn has its effect by the end of the turn.
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
