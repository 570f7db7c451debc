/**
 * A PostgreSQL of the tests' own, in a scratch directory behind a Unix socket. Where there is none
 * these tests are skipped, and said to be; under continuous integration that is a failure.
 */
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { openStore } from "../../src/state/open-store.ts";
import type { Store } from "../../src/state/store.ts";
import type { OnStoreNotice } from "../../src/state/store-health.ts";
import { findPostgres, POSTGRES_USER } from "../../tools/find-postgres.ts";
import { createDirectory } from "./directory.ts";

const PROGRAMS = findPostgres();

/** A server that runs. */
export interface TestPostgres {
  readonly directory: string;
  /** Where a database of its own begins, empty; dropped with the server. */
  makeDatabase(): Promise<string>;
  /** Asks as the superuser. */
  query(sql: string, url?: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
  /** Ends all at once, as `pg_ctl -m immediate` does. */
  crash(): void;
  /** With further options of the server, such as `-c ssl=on`. */
  start(more?: string): void;
  /** Keeps a copy of all that the server has, while it is stopped for a moment. */
  copy(): void;
  /** Has a server take over that knows what the copy has. */
  putBack(): void;
}

let server: TestPostgres | undefined;

/** The server of the suite that runs. */
export function postgres(): TestPostgres {
  if (server === undefined)
    throw new Error("there is no PostgreSQL outside of describeWithPostgres");
  return server;
}

/** A suite that needs a PostgreSQL of its own. */
export function describeWithPostgres(name: string, suite: () => void): void {
  describeWherePostgresIs(name, (programs) => {
    let stop = (): void => undefined;
    beforeAll(() => {
      ({ server, stop } = launchPostgres(programs));
    });
    afterAll(() => stop());
    suite();
  });
}

/** A suite that needs the programs of PostgreSQL. */
export function describeWherePostgresIs(name: string, suite: (programs: string) => void): void {
  if (PROGRAMS !== undefined) {
    describe(name, () => suite(PROGRAMS));
    return;
  }
  console.warn(`\nNOT RUN, there is no PostgreSQL (set POSTGRES_BIN to its programs): ${name}\n`);
  if (process.env["CI"] === "true") {
    it(`${name}: has a PostgreSQL`, () => expect(PROGRAMS, "initdb and pg_ctl").toBeDefined());
  } else describe.skip(name, () => it("is not run", () => undefined));
}

/** Opens the store in a database; it is closed when the running test is over. */
export async function openPostgres(url: string, onNotice?: OnStoreNotice): Promise<Store> {
  const location = { driver: "postgres", path: "", url } as const;
  const { store, problems } = await openStore(location, "agtp-server.toml", onNotice);
  if (store === undefined) throw new Error(JSON.stringify(problems));
  onTestFinished(() => store.close());
  return store;
}

/** Starts a server whose files lie in a directory, which goes with it. */
export function launchPostgres(
  programs: string,
  directory: string = createDirectory(),
): { readonly server: TestPostgres; stop(): void } {
  chmodSync(directory, 0o777);
  const data = join(directory, "data");
  const run = (...command: readonly string[]): void => runAsPostgres(directory, command);
  const control = (...args: readonly string[]): void =>
    run(join(programs, "pg_ctl"), "-D", data, "-w", ...args);
  // It is ended as a process, never as a machine: what the kernel has is kept.
  const options = `-k ${directory} -c listen_addresses='' -c max_connections=200 -c autovacuum=off -c fsync=off`;
  const start = (more = ""): void =>
    control("-o", `${options} ${more}`, "-l", join(directory, "log"), "-s", "start");
  run("cp", "-a", newCluster(programs), data);
  start();
  const urlOf = (database: string): string =>
    `postgres://agtp@/${database}?host=${encodeURIComponent(directory)}`;
  const query: TestPostgres["query"] = async (sql, url = urlOf("postgres")) => {
    const client = new pg.Client({ connectionString: url });
    // A server that ends is told by the query, too.
    client.on("error", () => undefined);
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  };
  const crash = (): void => control("-m", "immediate", "-s", "stop");
  let made = 0;
  const server: TestPostgres = {
    directory,
    query,
    start,
    crash,
    copy() {
      crash();
      run("cp", "-a", data, `${data}.copy`);
      start();
    },
    putBack() {
      crash();
      run("mv", data, `${data}.gone`);
      run("mv", `${data}.copy`, data);
      start();
    },
    async makeDatabase() {
      made += 1;
      await query(`CREATE DATABASE test${made}`);
      return urlOf(`test${made}`);
    },
  };
  const stop = (): void => {
    try {
      crash();
    } catch (error) {
      // It may have ended of itself.
      if (existsSync(join(data, "postmaster.pid"))) throw error;
    }
    rmSync(directory, { recursive: true, force: true });
  };
  return { server, stop };
}

/** The cluster that initdb makes once for all suites of a run: to copy it takes a twentieth of the time. */
function newCluster(programs: string): string {
  const kept = join(tmpdir(), "agtpd-postgres");
  if (existsSync(kept)) return kept;
  const directory = createDirectory();
  chmodSync(directory, 0o777);
  const made = join(directory, "data");
  runAsPostgres(directory, [
    ...[join(programs, "initdb"), "-D", made, "-A", "trust", "-U", "agtp"],
    ...["-E", "UTF8", "--locale=C", "-N"],
  ]);
  try {
    renameSync(made, kept);
  } catch (error) {
    // A suite that runs at the same time was faster.
    if (!existsSync(kept)) throw error;
  }
  rmSync(directory, { recursive: true, force: true });
  return kept;
}

function runAsPostgres(cwd: string, command: readonly string[]): void {
  const [file = "", ...rest] = [...POSTGRES_USER, ...command];
  execFileSync(file, rest, { cwd, stdio: ["ignore", "ignore", "inherit"] });
}
