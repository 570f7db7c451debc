/**
 * Opens the state that a configuration asks for: its store, and the journal beside it in the state
 * directory. With the memory driver nothing is written, and everything ends with the process.
 */
import { join, relative } from "node:path";
import type { Config } from "../base/config.ts";
import type { Problem } from "../base/problem.ts";
import { reasonOf } from "../base/thrown.ts";
import { type NegotiationState, openNegotiation } from "../modules/negotiation/state.ts";
import {
  damageNotice,
  describeDamage,
  type JournalDamage,
  JournalDamageError,
} from "../state/journal-damage.ts";
import { createMemoryStore } from "../state/memory-store.ts";
import type { StateNotice } from "../state/notice.ts";
import { openStore } from "../state/open-store.ts";
import { openState, type ServerState } from "../state/state.ts";
import { journalDirectory, takeStateDirectory } from "../state/state-directory.ts";
import type { StateLock } from "../state/state-lock.ts";
import type { Store } from "../state/store.ts";
import { isStoreUnavailable } from "../state/store-fault.ts";
import { type FloorState, openFloorState } from "./floor-state.ts";

/** The state, or what keeps it from being opened. */
export type StateOpening =
  | (OpenedState & { readonly problems?: undefined })
  | { readonly state?: undefined; readonly problems: readonly Problem[] };

/** What is kept while a daemon runs, through every reload. */
export interface OpenedState {
  readonly state: ServerState;
  readonly negotiation: NegotiationState;
  readonly floor: FloorState;
}

/** What is told of the state while it is kept. */
export interface StateWatch {
  onFault(error: unknown): void;
  onNotice(notice: StateNotice): void;
}

/** Opens the state; with `isPersistent` false one that nobody else sees. */
export async function openServerState(
  config: Config,
  isPersistent: boolean,
  watch: StateWatch,
): Promise<StateOpening> {
  if (!isPersistent) return openOver(config, createMemoryStore(), undefined, watch);
  const { lock, problems } = await takeStateDirectory(config, "agtpd");
  if (problems !== undefined) return { problems };
  let opening: StateOpening | undefined;
  try {
    opening = await openLocked(config, watch);
  } finally {
    if (opening?.state === undefined) lock?.release();
  }
  if (opening.state === undefined || lock === undefined) return opening;
  return { ...opening, state: releasing(opening.state, lock) };
}

async function openLocked(config: Config, watch: StateWatch): Promise<StateOpening> {
  const { store: location, directory } = config;
  if (location.driver === "memory") return openOver(config, createMemoryStore(), undefined, watch);
  const { store, problems } = await openStore(
    location,
    relative(directory, config.file),
    (notice) => watch.onNotice(notice),
  );
  if (store === undefined) return { problems };
  try {
    return await openOver(config, store, journalDirectory(directory), watch);
  } catch (error) {
    await closeQuietly(store);
    if (isStoreUnavailable(error)) return { problems: [storeFault(config, error)] };
    if (!(error instanceof JournalDamageError)) return { problems: [journalFault(config, error)] };
    for (const damage of error.damages) watch.onNotice(damageNotice(damage));
    return { problems: damageProblems(config, error.damages) };
  }
}

/** A store that cannot be read or written may not be closed in good order either. */
async function closeQuietly(store: Store): Promise<void> {
  await store.close().catch(() => undefined);
}

function storeFault({ directory, file, store }: Config, error: unknown): Problem {
  const message = `"${store.path}": ${reasonOf(error)}`;
  return { file: relative(directory, file), key: "store.path", message };
}

function journalFault({ directory }: Config, error: unknown): Problem {
  const message = `the journal cannot be opened: ${reasonOf(error)}`;
  return { file: relative(directory, journalDirectory(directory)), key: "", message };
}

/** A journal that is gone has lost every chain; nobody reads a problem for each. */
const MAX_PROBLEMS = 20;

function damageProblems(
  { directory, file }: Config,
  damages: readonly JournalDamage[],
): readonly Problem[] {
  const journal = journalDirectory(directory);
  const hint = `put back a copy of the journal, or go on without: agtp-keys repair --config ${relative(directory, file)}`;
  const problems = damages.slice(0, MAX_PROBLEMS).map((damage): Problem => {
    const place = relative(directory, join(journal, damage.file));
    return { file: place, key: "", message: describeDamage(damage), hint };
  });
  const more = damages.length - problems.length;
  if (more <= 0) return problems;
  const message = `${more} more such problems are in the log`;
  return [...problems, { file: relative(directory, journal), key: "", message }];
}

function releasing(state: ServerState, lock: StateLock): ServerState {
  return {
    ...state,
    close: async () => {
      try {
        await state.close();
      } finally {
        lock.release();
      }
    },
  };
}

async function openOver(
  { policies }: Config,
  store: Store,
  journalDirectory: string | undefined,
  watch: StateWatch,
): Promise<OpenedState> {
  const negotiation = await openNegotiation(store, policies.rcns.contractTtlSeconds);
  const floor = await openFloorState(store);
  return { state: await openState({ store, journalDirectory, ...watch }), negotiation, floor };
}
