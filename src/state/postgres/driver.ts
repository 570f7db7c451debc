/**
 * The PostgreSQL driver, loaded where a configuration asks for it, and how it is connected: TLS as
 * the URL and `ca` say, bounded waits, and no statement that a pooler between could not carry.
 */
import { createRequire } from "node:module";
import type { Client, Pool, PoolClient, PoolConfig } from "pg";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { reasonOf } from "../../base/thrown.ts";
import { readCertificates } from "../../endpoint/upstream-ca.ts";
import { isAnswer } from "./fault.ts";

/** The database of `[store]`. */
export interface PostgresLocation {
  readonly url: string;
  /** The schema that holds the tables. */
  readonly schema: string;
  /** A file of CA certificates in PEM, instead of the system's. */
  readonly ca?: string | undefined;
}

/** What is wrong, at which key of `[store]`. */
interface LocationFault {
  readonly key: string;
  readonly message: string;
}

/** A pool that nothing is connected with yet, or what is wrong. */
type PostgresPool =
  | { readonly pool: Pool; readonly fault?: undefined }
  | { readonly pool?: undefined; readonly fault: LocationFault };

/** How long a connection, and how long a statement is waited for. */
const CONNECT_MS = 3_000;
const STATEMENT_MS = 10_000;
const MAX_CONNECTIONS = 8;
/**
 * The server looks so often whether the other end is still there: else a statement that waits for a lock goes on
 * waiting when nobody waits for it any more, and each that is asked in its place takes another connection of the
 * server's.
 */
const LOOK_FOR_END = {
  text: "SET client_connection_check_interval = 2000",
  query_timeout: CONNECT_MS,
} as const;
const MAX_PEM_BYTES = 1_048_576;
const BARE_PERCENT = /%(?![0-9a-f]{2})/i;
const PROTOCOLS = ["postgres:", "postgresql:"];

/** What is wrong with a location, by itself; undefined: nothing that can be known without a server. */
export function findLocationFault(location: PostgresLocation): LocationFault | undefined {
  return makePool(location).fault;
}

function readLocation({ url, ca }: PostgresLocation) {
  const [beforeQuery = "", query = ""] = url.split("?", 2);
  if (!PROTOCOLS.some((protocol) => beforeQuery.startsWith(`${protocol}//`))) {
    return faulty("url", 'must start with "postgres://"');
  }
  if (BARE_PERCENT.test(url)) {
    return faulty("url", "has a % that two hexadecimal digits do not follow: %25 stands for one");
  }
  const parameters = new URLSearchParams(query);
  const ssl = readTls(parameters, ca);
  return "fault" in ssl ? ssl : { beforeQuery, parameters, ssl };
}

/** Makes the pool of a location; its password is in no message. */
export function makePool(location: PostgresLocation): PostgresPool {
  const read = readLocation(location);
  if ("fault" in read) return read;
  const { beforeQuery, parameters, ssl } = read;
  const connectionString = `${beforeQuery}?${parameters}`;
  const config: PoolConfig = {
    connectionString,
    ssl: ssl.options,
    max: MAX_CONNECTIONS,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: STATEMENT_MS,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    application_name: "agtpd",
  };
  try {
    const driver = createRequire(import.meta.url)("pg") as typeof import("pg");
    // Reads the URL, which a pool does not before it connects.
    new driver.Client(config);
    const pool = new driver.Pool({ ...config, Client: notingClient(driver), onConnect });
    // An idle connection that ends is replaced when the next is needed.
    pool.on("error", () => undefined);
    // So is one that ends between two statements of a transaction, or more than once: the next fails.
    pool.on("connect", (client) => client.on("error", () => undefined));
    return { pool };
  } catch (error) {
    const hint = "in a name or a password %2F stands for /, %3A for :, %40 for @";
    return faulty("url", `cannot be read: ${reasonOf(error)}; ${hint}`);
  }
}

/** The reasons for which connections were not made. */
const reasons = new WeakSet<object>();

/** A server whose system cannot tell refuses, and is used all the same. */
async function onConnect(client: Pick<Client, "query">): Promise<void> {
  try {
    await client.query(LOOK_FOR_END);
  } catch (error) {
    if (isAnswer(error)) return;
    if (error instanceof Error) reasons.add(error);
    throw error;
  }
}

/** A client that notes why it was not connected: a server, or a pooler before it, may refuse by any code. */
function notingClient(driver: typeof import("pg")): new () => Client {
  return class extends driver.Client {
    override connect(): Promise<Client>;
    override connect(callback: (error: Error) => void): void;
    override connect(callback?: (error: Error) => void): Promise<Client> | undefined {
      if (callback === undefined) return super.connect();
      super.connect((error: Error) => {
        if (error instanceof Error) reasons.add(error);
        callback(error);
      });
      return undefined;
    }
  };
}

/** Tells whether no connection was made, so that nothing can have been asked. */
export function isUnconnected(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const isLate = error.message === "timeout exceeded when trying to connect";
  return isLate || reasons.has(error) || isUnconnected(error.cause);
}

/** The words of `ssl`, which stands for `sslmode` in the URLs of some providers. */
const MODES: Readonly<Record<string, string>> = {
  ...{ true: "require", "1": "require" },
  ...{ false: "disable", "0": "disable" },
};

/** Takes the TLS parameters out of the URL: the driver would put what they say in the place of all else. */
function readTls(
  parameters: URLSearchParams,
  ca: string | undefined,
):
  | { readonly options: NonNullable<PoolConfig["ssl"]> }
  | Extract<PostgresPool, { pool?: undefined }> {
  const take = (name: string): string | undefined => {
    const value = parameters.get(name) ?? undefined;
    parameters.delete(name);
    return value;
  };
  const [ssl, rootCert, cert, key] = ["ssl", "sslrootcert", "sslcert", "sslkey"].map(take);
  const mode = take("sslmode") ?? (ssl && (MODES[ssl] ?? ssl));
  // Every server takes the other way as well.
  take("sslnegotiation");
  switch (mode) {
    case "disable":
      return ca === undefined
        ? { options: false }
        : faulty("ca", "is given, and the URL says sslmode=disable");
    case undefined:
      if ((ca ?? rootCert ?? cert ?? key) === undefined) return { options: false };
      break;
    case "require":
    case "verify-ca":
    case "verify-full":
      break;
    default:
      return faulty("url", 'has another sslmode than "disable", "require" or "verify-full"');
  }
  if ((cert === undefined) !== (key === undefined)) {
    return faulty("url", "has only one of sslcert and sslkey");
  }
  const read: Partial<Record<string, string>> = {};
  for (const [name, path] of Object.entries({ ca: ca ?? rootCert, cert, key })) {
    if (path === undefined) continue;
    const { text, fault } =
      name === "ca" ? readCertificates("", path) : readBoundedFile(path, MAX_PEM_BYTES);
    if (fault !== undefined) {
      return name === "ca"
        ? faulty("ca", fault)
        : faulty("url", `${JSON.stringify(path)} ${fault}`);
    }
    read[name] = text;
  }
  return { options: { rejectUnauthorized: true, ...read } };
}

function faulty(key: string, message: string): Extract<PostgresPool, { pool?: undefined }> {
  return { fault: { key, message } };
}

/** Works with one connection; one that failed otherwise than by an answer is not used again. */
export async function withClient<Done>(
  pool: Pool,
  work: (client: PoolClient) => Promise<Done>,
): Promise<Done> {
  const client = await pool.connect();
  let isBroken = true;
  try {
    const done = await work(client);
    isBroken = false;
    return done;
  } finally {
    client.release(isBroken);
  }
}

/** Begins a transaction that sees what was made while it waited for a lock, whatever the database's default is. */
export const BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED";

/**
 * Does something in one transaction that `begin` begins; what throws ends the connection, and with it the transaction.
 */
export function inTransaction<Done>(
  pool: Pool,
  begin: string,
  work: (client: PoolClient) => Promise<Done>,
): Promise<Done> {
  return withClient(pool, async (client) => {
    await client.query(begin);
    const done = await work(client);
    await client.query("COMMIT");
    return done;
  });
}

/** The rows that a query answers behind a row, page by page. */
export async function* pagesOf<Row>(
  size: number,
  read: (last: Row | undefined) => Promise<{ readonly rows: readonly Row[] }>,
): AsyncGenerator<Row> {
  let last: Row | undefined;
  for (;;) {
    const { rows } = await read(last);
    yield* rows;
    last = rows.at(-1);
    if (last === undefined || rows.length < size) return;
  }
}

/** A name as SQL has it. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
