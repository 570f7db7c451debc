/**
 * Opens the configured state: the store, and the journal beside it in the state directory. With the
 * memory driver nothing is written, and everything ends with the process.
 */
import { hostname } from "node:os";
import { join, relative } from "node:path";
import type { Log } from "../base/log.ts";
import type { Problem } from "../base/problem.ts";
import { shellWord } from "../base/shell-word.ts";
import { reasonOf } from "../base/thrown.ts";
import { VERSION } from "../base/version.ts";
import { createProcessState, type ProcessState } from "../dispatch/process-state.ts";
import { type MinuteShares, openMinuteShares } from "../dispatch/rates/minute-rates.ts";
import { type LeasedShares, openRateShares } from "../dispatch/rates/rate-shares.ts";
import {
  damageNotice,
  describeDamage,
  type JournalDamage,
  JournalDamageError,
} from "../state/journal/journal-damage.ts";
import { createMemoryStore } from "../state/memory-store.ts";
import type { StateNotice } from "../state/notice.ts";
import { openStore } from "../state/open-store.ts";
import { describeLoss, lossNotice, type PostgresNode } from "../state/postgres/node.ts";
import { openNode, openPostgres } from "../state/postgres/open.ts";
import type {
  AcknowledgedRecord,
  AcknowledgedRecords,
} from "../state/records/acknowledged-records.ts";
import type { SharedRecords } from "../state/records/open-ledger.ts";
import { openState } from "../state/state.ts";
import {
  acknowledgedPath,
  journalDirectory,
  takeStateDirectory,
} from "../state/state-directory.ts";
import type { StateLock } from "../state/state-lock.ts";
import type { Store } from "../state/store.ts";
import { exceptStoreFaults, isStoreUnavailable } from "../state/store-fault.ts";
import type { Config } from "./config/config.ts";

export type StateOpening<State = ProcessState> =
  | { readonly opened: State; readonly problems?: undefined }
  | {
      readonly opened?: undefined;
      readonly problems: readonly Problem[];
      /** True if the journal prevents the start, but can be inspected. */
      readonly isInspectable?: true;
    };

/** Called with faults and notices of the state. */
export interface StateWatch {
  onFault(error: unknown): void;
  onNotice(notice: StateNotice): void;
}

/** Logs faults and notices of the state; store faults have notices of their own. */
export function watchState({ logger }: Log): StateWatch {
  return {
    onFault: exceptStoreFaults((error) =>
      logger.error({ event: "fault", error }, "the server's state cannot be kept"),
    ),
    onNotice: ({ level, event, fields, message }) => logger[level]({ event, ...fields }, message),
  };
}

/** Opens the state; if `isPersistent` is false, a private one in memory. */
export async function openServerState(
  config: Config,
  isPersistent: boolean,
  watch: StateWatch,
): Promise<StateOpening> {
  if (!isPersistent) return openOver(config, { store: createMemoryStore(), ...watch });
  return inStateDirectory(config, (lock) => {
    if (config.store.driver === "postgres") return openAsNode(config, lock, watch);
    return overStore(config, watch, (store, journal) =>
      openOver(config, { store, journal, lock, ...watch }),
    );
  });
}

/** Opens a state in the state directory, and releases its lock if that fails. */
export async function inStateDirectory<State>(
  config: Config,
  open: (lock: StateLock | undefined) => Promise<StateOpening<State>>,
): Promise<StateOpening<State>> {
  const { lock, problems } = await takeStateDirectory(config, "agtpd");
  if (problems !== undefined) return { problems };
  let opening: StateOpening<State> | undefined;
  try {
    opening = await open(lock);
  } finally {
    if (opening?.opened === undefined) lock?.release();
  }
  return opening;
}

/** Opens a state over this process's own store, with a journal unless the store is in memory. */
export async function overStore<State>(
  config: Config,
  watch: StateWatch,
  open: (store: Store, journal: string | undefined) => Promise<StateOpening<State>>,
): Promise<StateOpening<State>> {
  const { store: location, directory } = config;
  const { store, problems } = await openStore(
    location,
    relative(directory, config.file),
    (notice) => watch.onNotice(notice),
    config.file,
  );
  if (store === undefined) return { problems };
  try {
    const isKept = location.driver !== "memory";
    return await open(store, isKept ? journalDirectory(directory) : undefined);
  } catch (error) {
    await closeQuietly(store);
    if (isStoreUnavailable(error)) return { problems: [storeFault(config, error)] };
    if (!(error instanceof JournalDamageError)) return { problems: [journalFault(config, error)] };
    for (const damage of error.damages) watch.onNotice(damageNotice(damage));
    return { problems: damageProblems(config, error.damages), isInspectable: true };
  }
}

/** Opens the state that this daemon shares with other nodes. */
async function openAsNode(
  config: Config,
  lock: StateLock | undefined,
  watch: StateWatch,
): Promise<StateOpening> {
  const { store: location, directory } = config;
  const file = relative(directory, config.file);
  const { url = "" } = location;
  const opening = await openPostgres({ ...location, url }, (notice) => watch.onNotice(notice));
  if (opening.store === undefined) {
    const { key, ...fault } = opening.fault;
    return { problems: [{ file, key: `store.${key}`, ...fault }] };
  }
  const { store } = opening;
  let node: PostgresNode | undefined;
  try {
    const identity = { ...nodeIdentity(config), ...watch };
    const opened = await openNode(store, identity);
    if (typeof opened === "string") {
      await closeQuietly(store);
      return { problems: [{ file, key: "cluster.node", message: opened }] };
    }
    if ("lost" in opened) {
      await closeQuietly(store);
      for (const record of opened.lost) watch.onNotice(lossNotice(record));
      return {
        problems: opened.lost.slice(0, MAX_PROBLEMS).map((one) => lossProblem(config, one)),
      };
    }
    ({ node } = opened);
    const { shared, acknowledged } = opened;
    const over = await openOver(config, { store, shared, node, acknowledged, lock, ...watch });
    await node.start();
    return over;
  } catch (error) {
    await node?.close();
    await closeQuietly(store);
    if (isStoreUnavailable(error)) return { problems: [storeFault(config, error)] };
    throw error;
  }
}

function lossProblem({ directory, file }: Config, record: AcknowledgedRecord): Problem {
  const hint = `put a newer copy of the database back, or go on without: agtpd state accept-loss --config ${shellWord(file)}`;
  return { file: relative(directory, file), key: "store.url", message: describeLoss(record), hint };
}

function nodeIdentity({ cluster, directory, server }: Config) {
  const { host, port } = server;
  // A port that the system chooses cannot name a node.
  const own = port === 0 ? `pid-${process.pid}` : String(port);
  return {
    node: cluster.node ?? `${hostname()}:${own}`,
    address: `${host}:${port}`,
    version: VERSION,
    leaseMs: cluster.viewLeaseMs,
    acknowledgedPath: acknowledgedPath(directory),
  };
}

/** Closes a store whose failure may also keep it from closing. */
async function closeQuietly(store: Store): Promise<void> {
  await store.close().catch(() => undefined);
}

/** Describes why the store cannot be used. */
export function storeFault({ directory, file, store }: Config, error: unknown): Problem {
  const isFile = store.driver === "sqlite";
  const message = isFile ? `"${store.path}": ${reasonOf(error)}` : reasonOf(error);
  const key = isFile ? "store.path" : "store.url";
  return { file: relative(directory, file), key, message };
}

/** Describes why the journal cannot be opened. */
function journalFault({ directory }: Config, error: unknown): Problem {
  const message = `the journal cannot be opened: ${reasonOf(error)}`;
  return { file: relative(directory, journalDirectory(directory)), key: "", message };
}

/** The number of problems that are listed; a missing journal damages every chain. */
const MAX_PROBLEMS = 20;

/** Describes the damages with their remedy; those beyond the limit are only counted. */
export function damageProblems(
  { directory, file }: Config,
  damages: readonly JournalDamage[],
): readonly Problem[] {
  const journal = journalDirectory(directory);
  const hint = `put back a copy of the journal, or go on without: agtp-keys repair --config ${shellWord(file)}`;
  const problems = damages.slice(0, MAX_PROBLEMS).map((damage): Problem => {
    const place = relative(directory, join(journal, damage.file));
    return { file: place, key: "", message: describeDamage(damage), hint };
  });
  const more = damages.length - problems.length;
  if (more <= 0) return problems;
  const message = `${more} more such problems are in the log`;
  return [...problems, { file: relative(directory, journal), key: "", message }];
}

interface StatePlaces extends StateWatch {
  readonly store: Store;
  /** The journal's directory; undefined if records end with the process. */
  readonly journal?: string | undefined;
  readonly lock?: StateLock | undefined;
  /** The records of all nodes, if there are several. */
  readonly shared?: SharedRecords;
  readonly node?: PostgresNode;
  readonly acknowledged?: AcknowledgedRecords;
}

async function openOver(
  { policies, attribution: { durability } }: Config,
  { store, journal, lock, shared, node, acknowledged, ...watch }: StatePlaces,
): Promise<StateOpening> {
  const tombstoneMs = policies.rcns.contractTtlSeconds * 1000;
  const cluster = shared && node ? { shared, view: node } : {};
  const state = await openState({
    ...{ store, journalDirectory: journal, durability, tombstoneMs },
    ...cluster,
    ...watch,
  });
  let shares: LeasedShares | undefined;
  let minuteShares: MinuteShares | undefined;
  const close = async (): Promise<void> => {
    shares?.close();
    minuteShares?.close();
    try {
      // The node releases its name before the store that holds it closes.
      await state.ledger.settled().catch(() => undefined);
      await acknowledged?.close();
      await node?.close();
      await state.close();
    } finally {
      lock?.release();
    }
  };
  const kept = createProcessState({ ...state, close });
  const { holders } = state;
  const onFault = exceptStoreFaults((error) => watch.onFault(error));
  shares = await openRateShares(store, {
    ...{ holders, onFault },
    limitOf: (scope) => kept.rates.limitOf(scope),
  });
  minuteShares = await openMinuteShares(store, { holders, onFault, rates: kept.minuteRates });
  if (shares !== undefined) kept.rates.share(shares);
  return { opened: kept };
}
