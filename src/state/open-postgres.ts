/** Opens the store in a PostgreSQL database; what is wrong with it is told at its key. */
import { codeOf, reasonOf } from "../base/thrown.ts";
import { makePool, type PostgresLocation, quoteName, withClient } from "./postgres-driver.ts";
import { postgresFaultKind } from "./postgres-fault.ts";
import { prepareSchema, type SchemaFault } from "./postgres-schema.ts";
import { PostgresStore } from "./postgres-store.ts";
import type { OnStoreNotice } from "./store-health.ts";

/** A store, or why there is none. */
export type PostgresOpening =
  | { readonly store: PostgresStore; readonly fault?: undefined }
  | { readonly store?: undefined; readonly fault: SchemaFault };

/** Connects, and brings the schema to this build's version. */
export async function openPostgres(
  location: PostgresLocation,
  onNotice?: OnStoreNotice,
): Promise<PostgresOpening> {
  const { pool, fault } = makePool(location);
  if (pool === undefined) return { fault };
  let wrong: SchemaFault | undefined;
  try {
    wrong = await withClient(pool, (client) => prepareSchema(client, location.schema));
  } catch (error) {
    wrong = describe(error);
  }
  if (wrong === undefined) {
    return { store: new PostgresStore(pool, quoteName(location.schema), onNotice) };
  }
  await pool.end();
  return { fault: wrong };
}

function describe(error: unknown): SchemaFault {
  const reason = reasonOf(error) || codeOf(error);
  switch (postgresFaultKind(error)) {
    case "refused":
      return { key: "url", message: `the server refuses this role: ${reason}` };
    case "unreachable":
      return { key: "url", message: `the server cannot be reached: ${reason}` };
    default:
      return { key: "url", message: `the database cannot be used: ${reason}` };
  }
}
