/** The deployment whose state is moved. */

import { closeSync, fsyncSync, openSync } from "node:fs";
import { relative } from "node:path";
import type { Config } from "../../app/config/config.ts";
import { openStore } from "../../state/open-store.ts";
import { openPostgres } from "../../state/postgres/open.ts";
import type { PostgresStore } from "../../state/postgres/store.ts";
import { takeStateDirectory } from "../../state/state-directory.ts";
import type { Store } from "../../state/store.ts";
import { CommandRefusal } from "../shell/command.ts";
import { refusalOf } from "../shell/read-config.ts";

/** The option that says which one. */
export const CONFIG = {
  help: "configuration file of the deployment",
  default: "agtp-server.toml",
} as const;

/** Does something while no daemon runs. @throws CommandRefusal where one does. */
export async function withState<T>(config: Config, who: string, act: () => Promise<T>): Promise<T> {
  const { lock, problems } = await takeStateDirectory(config, who);
  if (problems !== undefined) throw refusalOf(problems);
  try {
    return await act();
  } finally {
    lock?.release();
  }
}

/** Opens a sqlite store for as long as something is done with it. */
export async function withStore<T>(
  { directory, file }: Config,
  path: string,
  act: (store: Store) => Promise<T>,
): Promise<T> {
  const { store, problems } = await openStore(
    { driver: "sqlite", path },
    relative(directory, file),
  );
  if (store === undefined) throw refusalOf(problems);
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

/** Only what a file of sqlite keeps is there when no daemon runs. */
export function checkDriver({ store }: Config, what: string): void {
  if (store.driver === "sqlite") return;
  throw new CommandRefusal(`${what}, and store.driver is "${store.driver}"`);
}

/** Returns once the names in a directory are on the disk. */
export function syncDirectory(path: string): void {
  const directory = openSync(path, "r");
  try {
    fsyncSync(directory);
  } finally {
    closeSync(directory);
  }
}
