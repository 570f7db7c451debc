/** Loads the SQLite driver on demand, as its native part exists for common platforms only. */
import { createRequire } from "node:module";
import type { Database } from "libsql";
import { reasonOf } from "../../base/thrown.ts";

/** The constructor that the package exports. */
export type DatabaseClass = new (path: string, options: { readonly timeout: number }) => Database;

/** The driver, or why it is unavailable. */
type SqliteDriver =
  | { readonly Database: DatabaseClass; readonly fault?: undefined }
  | { readonly Database?: undefined; readonly fault: string };

const require = createRequire(import.meta.url);

/** Loads the driver. */
export function loadSqliteDriver(): SqliteDriver {
  try {
    return { Database: require("libsql") as DatabaseClass };
  } catch (error) {
    const [reason] = reasonOf(error).split("\n");
    return { fault: `the driver "sqlite" cannot be loaded on this platform: ${reason}` };
  }
}
