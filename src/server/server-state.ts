/**
 * Opens the state that a configuration asks for: its store, and the journal beside it in the state
 * directory. With the memory driver nothing is written, and everything ends with the process.
 */
import { join, relative } from "node:path";
import { openState, type ServerState } from "../attribution/state.ts";
import type { Config } from "../config/config.ts";
import type { Problem } from "../problem.ts";
import { createMemoryStore } from "../store/memory-store.ts";
import { openStore } from "../store/open-store.ts";
import type { Store } from "../store/store.ts";
import { type NegotiationState, openNegotiation } from "../synthesis/state.ts";
import { reasonOf } from "../thrown.ts";
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

/** Where a deployment's journal is. */
export function journalDirectory(directory: string): string {
  return join(directory, ".agtp", "journal");
}

/** Opens the state; with `isPersistent` false one that nobody else sees. */
export async function openServerState(
  config: Config,
  isPersistent: boolean,
  onFault: (error: unknown) => void,
): Promise<StateOpening> {
  const { store: location, directory } = config;
  if (!isPersistent || location.driver === "memory") {
    return openOver(config, createMemoryStore(), undefined, onFault);
  }
  const file = relative(directory, config.file);
  const { store, problems } = await openStore(location, file);
  if (store === undefined) return { problems };
  const journal = journalDirectory(directory);
  try {
    return await openOver(config, store, journal, onFault);
  } catch (error) {
    await store.close();
    const message = `the journal cannot be opened: ${reasonOf(error)}`;
    return { problems: [{ file: relative(directory, journal), key: "", message }] };
  }
}

async function openOver(
  { policies }: Config,
  store: Store,
  journalDirectory: string | undefined,
  onFault: (error: unknown) => void,
): Promise<OpenedState> {
  const negotiation = await openNegotiation(store, policies.rcns.contractTtlSeconds);
  const floor = await openFloorState(store);
  return { state: await openState({ store, journalDirectory, onFault }), negotiation, floor };
}
