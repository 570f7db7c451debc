/** The state of a deployment, for as long as a program works at it. */

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

/** Does something while no daemon runs. @throws CommandRefusal where one does. */
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

/** Opens the store of a deployment, whatever it is, for as long as something is done with it. */
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

/** Opens the PostgreSQL of a deployment for as long as something is done with it. */
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
