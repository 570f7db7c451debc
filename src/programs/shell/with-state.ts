/** Opens the state of a deployment while a program works on it. */

import { relative } from "node:path";
import type { Config } from "../../app/config/config.ts";
import type { Problem } from "../../base/problem.ts";
import { openStore } from "../../state/open-store.ts";
import { openPostgres } from "../../state/postgres/open.ts";
import type { PostgresStore } from "../../state/postgres/store.ts";
import { takeStateDirectory } from "../../state/state-directory.ts";
import type { Store } from "../../state/store.ts";
import type { CommandRefusal } from "./command.ts";
import { refusalOf } from "./read-config.ts";

type Refuse = (problems: readonly Problem[]) => CommandRefusal;

/** Runs work while no daemon runs. @throws CommandRefusal if one does. */
export async function withState<T>(
  config: Config,
  who: string,
  act: () => Promise<T>,
  refuse: Refuse = refusalOf,
): Promise<T> {
  const { lock, problems } = await takeStateDirectory(config, who);
  if (problems !== undefined) throw refuse(problems);
  try {
    return await act();
  } finally {
    lock?.release();
  }
}

/** Opens a deployment's store, of any driver, while work runs. */
export async function withStore<T>(
  { store: location, directory, file }: Pick<Config, "store" | "directory" | "file">,
  act: (store: Store) => Promise<T>,
  refuse: Refuse = refusalOf,
): Promise<T> {
  const { store, problems } = await openStore(location, relative(directory, file), undefined, file);
  if (store === undefined) throw refuse(problems);
  try {
    return await act(store);
  } finally {
    await store.close();
  }
}

/** Opens a deployment's PostgreSQL store while work runs. */
export async function withPostgres<T>(
  { store: location, directory, file }: Config,
  act: (store: PostgresStore) => Promise<T>,
): Promise<T> {
  const { store, fault } = await openPostgres({ ...location, url: location.url ?? "" });
  if (store === undefined) {
    const { key, ...problem } = fault;
    throw refusalOf([{ file: relative(directory, file), key: `store.${key}`, ...problem }]);
  }
  try {
    return await act(store);
  } finally {
    await store.close();
  }
}
