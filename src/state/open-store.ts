/**
 * Opens the store that `[store]` describes. Only the configured driver is loaded; any fault of it or its file is a
 * start-up problem, never an exception.
 */

import { existsSync } from "node:fs";
import { dirname, resolve } from "node:path";
import type { Problem } from "../base/problem.ts";
import { shellWord } from "../base/shell-word.ts";
import { createMemoryStore } from "./memory-store.ts";
import { openPostgres } from "./postgres/open.ts";
import { loadSqliteDriver } from "./sqlite/driver.ts";
import { findBlockage, openSqliteFile } from "./sqlite/file.ts";
import { findSqliteFault } from "./sqlite/header.ts";
import { createSqliteStore } from "./sqlite/store.ts";
import type { StoreConfig } from "./state-sections.ts";
import type { Store } from "./store.ts";
import type { OnStoreNotice } from "./store-health.ts";

/** The keys of `[store]`; `schema` is for postgres. */
type StoreLocation = Omit<StoreConfig, "schema"> & Partial<Pick<StoreConfig, "schema">>;

/** An open store, or every reason why there is none. */
type StoreOpening =
  | { readonly store: Store; readonly problems?: undefined }
  | { readonly store?: undefined; readonly problems: readonly Problem[] };

/** Opens a store; `file` is the configuration's name in problems, `path` its path for commands in hints. */
export async function openStore(
  location: StoreLocation,
  file: string,
  onNotice?: OnStoreNotice,
  path: string = file,
): Promise<StoreOpening> {
  switch (location.driver) {
    case "memory":
      return { store: createMemoryStore() };
    case "sqlite":
      return openSqliteStore(location.path, { file, path }, onNotice);
    case "postgres":
      return openPostgresStore(location, file, onNotice);
  }
}

/** The temporary name of a store or journal being imported, before it replaces another. */
export function importingName(path: string): string {
  return `${path}.importing`;
}

async function openSqliteStore(
  path: string,
  { file, path: configPath }: { readonly file: string; readonly path: string },
  onNotice: OnStoreNotice | undefined,
): Promise<StoreOpening> {
  if (!existsSync(path) && existsSync(importingName(path))) {
    const message = `"${path}" is not there: an import was cut off before it took its place`;
    const hint = `run agtpd state import again, with --replace, or delete "${importingName(path)}"`;
    return { problems: [{ file, key: "store.path", message, hint }] };
  }
  const driver = loadSqliteDriver();
  if (driver.fault !== undefined) return refuseDriver(file, driver.fault);
  // An absolute path cannot be mistaken for a URL or `:memory:`.
  const opened = await openSqliteFile(resolve(path), driver.Database);
  if (opened.database !== undefined) return { store: createSqliteStore(opened.database, onNotice) };
  const problem = { file, key: "store.path", message: `"${path}" ${opened.fault}` };
  if (opened.logDamage === undefined) return { problems: [problem] };
  const hint = `put back a copy of both, or go on without: agtp-keys repair --config ${shellWord(configPath)}`;
  return { problems: [{ ...problem, hint }] };
}

/** Returns reasons why a store could not be opened, without creating or opening anything. */
export function judgeStore({ driver, path }: StoreLocation, file: string): readonly Problem[] {
  if (driver !== "sqlite") return [];
  try {
    const fault = existsSync(path) ? findSqliteFault(path) : findBlockage(dirname(path));
    return fault === undefined ? [] : [{ file, key: "store.path", message: `"${path}" ${fault}` }];
  } catch {
    // It may be readable by the daemon's user only.
    return [];
  }
}

const DEFAULT_SCHEMA = "agtp";

async function openPostgresStore(
  { url, schema = DEFAULT_SCHEMA, ca }: StoreLocation,
  file: string,
  onNotice: OnStoreNotice | undefined,
): Promise<StoreOpening> {
  if (url === undefined) {
    const hint = 'expected a URL like "postgres://agtpd@db.example/agtpd"';
    return { problems: [{ file, key: "store.url", message: "is missing", hint }] };
  }
  const { store, fault } = await openPostgres({ url, schema, ca }, onNotice);
  if (store !== undefined) return { store };
  const { key, message, hint } = fault;
  const problem = { file, key: `store.${key}`, message };
  return { problems: [hint === undefined ? problem : { ...problem, hint }] };
}

function refuseDriver(file: string, message: string): StoreOpening {
  const hint = 'expected driver = "sqlite", "memory" or "postgres"';
  return { problems: [{ file, key: "store.driver", message, hint }] };
}
