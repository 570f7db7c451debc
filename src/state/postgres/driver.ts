/**
 * Loads the PostgreSQL driver on demand, and configures its connections: TLS according to the URL and `ca`, bounded
 * waits, and only statements that work through a pooler.
 */
import { createRequire } from "node:module";
import type { Duplex } from "node:stream";
import type { Client, ClientConfig, Pool, PoolClient, PoolConfig } from "pg";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { codeOf, reasonOf } from "../../base/thrown.ts";
import { readCertificates } from "../../endpoint/upstream-ca.ts";
import { isAnswer } from "./fault.ts";

/** The database of `[store]`. */
export interface PostgresLocation {
  readonly url: string;
  /** The schema of the tables. */
  readonly schema: string;
  /** A PEM file of CA certificates, replacing the system's. */
  readonly ca?: string | undefined;
}

/** A problem at a key of `[store]`. */
interface LocationFault {
  readonly key: string;
  readonly message: string;
}

/** A pool without connections yet, or the problem. */
type PostgresPool =
  | { readonly pool: Pool; readonly fault?: undefined }
  | { readonly pool?: undefined; readonly fault: LocationFault };

/** Timeouts of a connection attempt, and of a statement. */
const CONNECT_MS = 3_000;
const STATEMENT_MS = 10_000;
const MAX_CONNECTIONS = 8;
/** How long no further connection is requested after the server refused one. */
const FULL_MS = 10_000;
/** SQLSTATEs of a server and of a pooler without free connections. */
const TOO_MANY: readonly string[] = ["53300", "08P01"];
/** Replies report a commit, so it must be durable whatever the role's default is. */
const KEEP_COMMITS = `SELECT set_config('synchronous_commit', 'on', false)
  WHERE current_setting('synchronous_commit') = 'off'`;
/**
 * Makes the server detect a closed connection: otherwise a statement that waits for a lock goes on after its client
 * has gone, and each retry takes another of the server's connections.
 */
const LOOK_FOR_END = "SET client_connection_check_interval = 2000";
const MAX_PEM_BYTES = 1_048_576;
const BARE_PERCENT = /%(?![0-9a-f]{2})/i;
const PROTOCOLS = ["postgres:", "postgresql:"];
/** A list of hosts, as libpq allows, comes after the password, which may contain a comma. */
const SEVERAL_HOSTS = /^[^/]*,/;

/** Returns a problem that is visible without a server; undefined if there is none. */
export function findLocationFault(location: PostgresLocation): LocationFault | undefined {
  return makePool(location).fault;
}

function readLocation({ url, schema, ca }: PostgresLocation) {
  if (schema.startsWith("pg_")) {
    return faulty("schema", 'starts with "pg_", as the server\'s own schemas alone do');
  }
  const [beforeQuery = "", query = ""] = url.split("?", 2);
  if (!PROTOCOLS.some((protocol) => beforeQuery.startsWith(`${protocol}//`))) {
    return faulty("url", 'must start with "postgres://"');
  }
  if (SEVERAL_HOSTS.test(beforeQuery.replace(/^.*?\/\/(?:[^/]*@)?/, ""))) {
    return faulty("url", "names several hosts: name one that is the primary, whichever that is");
  }
  if (BARE_PERCENT.test(url)) {
    return faulty("url", "has a % that two hexadecimal digits do not follow: %25 stands for one");
  }
  const parameters = new URLSearchParams(query);
  const ssl = readTls(parameters, ca);
  return "fault" in ssl ? ssl : { beforeQuery, parameters, ssl };
}

/** Creates the pool of a location. No message contains its password. */
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
    // Parses the URL, which a pool does only when it connects.
    new driver.Client(config);
    const pool = makeWaitingPool(driver, { ...config, Client: notingClient(driver), onConnect });
    // An idle connection that ends is replaced on demand.
    pool.on("error", () => undefined);
    // A connection may end during a transaction, or emit several errors; the next statement fails.
    pool.on("connect", (client) => client.on("error", () => undefined));
    return { pool };
  } catch (error) {
    const hint = "in a name or a password %2F stands for /, %3A for :, %40 for @";
    return faulty("url", `cannot be read: ${reasonOf(error)}; ${hint}`);
  }
}

/** Errors of connections that were not made. */
const reasons = new WeakSet<object>();

/** Configures a new connection; a server whose system lacks the check refuses it, and is used anyway. */
async function onConnect(client: Pick<Client, "query">): Promise<void> {
  for (const text of [KEEP_COMMITS, LOOK_FOR_END]) {
    const asked = { text, query_timeout: CONNECT_MS };
    try {
      await client.query(asked);
    } catch (error) {
      if (isAnswer(error)) continue;
      if (error instanceof Error) reasons.add(error);
      throw error;
    }
  }
}

/**
 * A pool that, when refused another connection, waits for one of its own, so that it works with a server that is
 * shared or allows few connections.
 */
function makeWaitingPool(driver: typeof import("pg"), config: PoolConfig): Pool {
  class WaitingPool extends driver.Pool {
    #fullUntil = Number.NEGATIVE_INFINITY;
    /** Established connections; `totalCount` includes attempts that may be refused. */
    #made = 0;

    constructor() {
      super(config);
      this.on("connect", () => (this.#made += 1));
      this.on("remove", () => (this.#made -= 1));
    }

    override connect(): Promise<PoolClient>;
    override connect(callback: OnConnected): void;
    override connect(callback?: OnConnected): Promise<PoolClient> | undefined {
      const connected = this.#connect();
      if (callback === undefined) return connected;
      connected.then(
        (client) => callback(undefined, client, (failed) => client.release(failed)),
        (error) => callback(error, undefined, () => undefined),
      );
      return undefined;
    }

    async #connect(): Promise<PoolClient> {
      const until = performance.now() + CONNECT_MS;
      if (performance.now() > this.#fullUntil) this.options.max = MAX_CONNECTIONS;
      for (;;) {
        try {
          return await super.connect();
        } catch (error) {
          const isFull = TOO_MANY.includes(codeOf(error)) && this.#made > 0;
          if (!isFull || performance.now() > until) throw error;
          this.options.max = this.#made;
          this.#fullUntil = performance.now() + FULL_MS;
        }
      }
    }
  }
  return new WaitingPool();
}

/** Called with a connection of a pool, or the error. */
type OnConnected = (
  error: Error | undefined,
  client: PoolClient | undefined,
  release: (failed?: Error | boolean) => void,
) => void;

/**
 * A client that notes connection failures, since a server or pooler may refuse with any code. A malformed message
 * ends its connection.
 */
function notingClient(driver: typeof import("pg")): new (config?: ClientConfig) => Client {
  return class extends driver.Client {
    constructor(config?: ClientConfig) {
      super(config);
      endByMalformed(this);
    }

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

type Heard = Pick<Duplex, "on">;

/** The driver throws on malformed messages inside its socket listener, where no caller could catch it. */
function endByMalformed(client: Client): void {
  const { connection } = client as unknown as { connection: { attachListeners(on: Heard): void } };
  const attach = connection.attachListeners.bind(connection);
  connection.attachListeners = (stream) => {
    attach({
      on: (event: string, listener: (...told: unknown[]) => void) =>
        stream.on(event, event === "data" ? endingBy(listener, stream as Duplex) : listener),
    } as Heard);
  };
}

function endingBy(listener: (...told: unknown[]) => void, stream: Duplex) {
  return (...told: unknown[]): void => {
    if (stream.destroyed) return;
    try {
      listener(...told);
    } catch (cause) {
      stream.destroy(new Error("its answer is no message of the protocol", { cause }));
    }
  };
}

/** True if no connection was made, so that nothing was executed. */
export function isUnconnected(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const isLate = error.message === "timeout exceeded when trying to connect";
  return isLate || reasons.has(error) || isUnconnected(error.cause);
}

/** Values of `ssl`, used instead of `sslmode` in some providers' URLs. */
const MODES: Readonly<Record<string, string>> = {
  ...{ true: "require", "1": "require" },
  ...{ false: "disable", "0": "disable" },
};

/** Removes the TLS parameters from the URL, which would override the options in the driver. */
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
  // Dropped, since every server supports the default negotiation too.
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
        ? faulty(ca === undefined ? "url" : "ca", fault)
        : faulty("url", `${JSON.stringify(path)} ${fault}`);
    }
    read[name] = text;
  }
  return { options: { rejectUnauthorized: true, ...read } };
}

function faulty(key: string, message: string): Extract<PostgresPool, { pool?: undefined }> {
  return { fault: { key, message } };
}

/** Works with one connection, which is discarded after an error. */
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

/** Begins a transaction that sees commits made while it waited for a lock, whatever the database's default. */
export const BEGIN = "BEGIN ISOLATION LEVEL READ COMMITTED";

/** Works in a transaction that `begin` begins; an error ends the connection, and so the transaction. */
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

/** Yields the rows of a query page by page; `read` returns those after a row. */
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

/** Quotes an identifier for SQL. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}
