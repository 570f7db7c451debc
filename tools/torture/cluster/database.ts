/**
 * A PostgreSQL in a scratch directory, behind a Unix socket: it can crash, and a standby can
 * replace it.
 */
import { execFile } from "node:child_process";
import { chmodSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { POSTGRES_USER } from "../../find-postgres.ts";
import { quitServer, undoAtEnd } from "../../leftovers.ts";
import { Link } from "./link.ts";

const FIRST_PORT = 5432;
const PID_FILE = "postmaster.pid";

export class Database {
  readonly #programs: string;
  readonly #directory: string;
  /** The number of servers so far. */
  #number = 0;
  #isRunning = false;
  #replication: Link | undefined;

  constructor(programs: string, directory: string) {
    this.#programs = programs;
    this.#directory = directory;
    chmodSync(directory, 0o777);
  }

  /** Creates the first server, with a database. */
  async make(): Promise<void> {
    const data = this.#data(0);
    await this.#run(
      "initdb",
      "-D",
      data,
      ...["-A", "trust", "-U", "agtp", "-E", "UTF8"],
      "--locale=C",
      "-N",
    );
    await this.start();
    await this.query("CREATE DATABASE agtp", "postgres");
  }

  /** The socket of the current primary. */
  get socket(): string {
    return this.#socket(this.#number);
  }

  /** The pid of the primary's postmaster. */
  get pid(): number {
    return Number.parseInt(readFileSync(this.#data(this.#number, PID_FILE), "utf8"), 10);
  }

  async start(): Promise<void> {
    await this.#start(this.#number);
    this.#isRunning = true;
  }

  /** Ends the primary immediately, like a crash. */
  async crash(): Promise<void> {
    this.#isRunning = false;
    await this.#run("pg_ctl", "-D", this.#data(this.#number), "-m", "immediate", "-s", "stop");
  }

  /** Adds an asynchronous standby of the primary. */
  async addStandby(): Promise<void> {
    const next = this.#number + 1;
    this.#replication = await Link.open(this.socket);
    const from = `host=127.0.0.1 port=${this.#replication.port} user=agtp`;
    await this.#run("pg_basebackup", "-d", from, "-D", this.#data(next), "-R", "-c", "fast");
    await this.#start(next);
  }

  /** Stops replication to the standby. */
  leaveStandbyBehind(): void {
    this.#replication?.set("half-open");
  }

  /** Promotes the standby; the old primary is discarded. */
  async promote(): Promise<void> {
    await this.crash();
    this.#replication?.close();
    this.#replication = undefined;
    this.#number += 1;
    await this.#run("pg_ctl", "-D", this.#data(this.#number), "-w", "-s", "promote");
    this.#isRunning = true;
  }

  async query(sql: string, database = "agtp"): Promise<readonly Record<string, unknown>[]> {
    const client = new pg.Client({
      ...{ host: this.#directory, port: FIRST_PORT + this.#number, user: "agtp", database },
    });
    client.on("error", () => undefined);
    await client.connect();
    try {
      return (await client.query(sql)).rows;
    } finally {
      await client.end();
    }
  }

  /** Lists the connections to the database with their state and what they wait for. */
  async activity(): Promise<readonly string[]> {
    const rows = await this.query(
      `SELECT pid, state, wait_event_type, wait_event, pg_blocking_pids(pid) AS behind,
        clock_timestamp() - query_start AS since, query FROM pg_stat_activity
        WHERE datname = 'agtp' ORDER BY query_start`,
    );
    return rows.map((row) => JSON.stringify(row));
  }

  async stop(): Promise<void> {
    this.#replication?.close();
    if (this.#isRunning) await this.crash().catch(() => undefined);
    const standby = ["-D", this.#data(this.#number + 1), "-m", "immediate", "-s", "stop"];
    await this.#run("pg_ctl", ...standby).catch(() => undefined);
  }

  async #start(number: number): Promise<void> {
    undoAtEnd(() => quitServer(this.#data(number, PID_FILE)));
    const options = [
      ...[`-k ${this.#directory}`, `-p ${FIRST_PORT + number}`, "-c listen_addresses=''"],
      ...["-c max_connections=100", "-c wal_sender_timeout=60s", "-c autovacuum=off"],
    ].join(" ");
    const log = join(this.#directory, `log-${number}`);
    await this.#run("pg_ctl", "-D", this.#data(number), "-w", "-o", options, "-l", log, "start");
  }

  #data(number: number, file: string = ""): string {
    return join(this.#directory, `data-${number}`, file);
  }

  #socket(number: number): string {
    return join(this.#directory, `.s.PGSQL.${FIRST_PORT + number}`);
  }

  async #run(program: string, ...args: readonly string[]): Promise<void> {
    const [file = "", ...rest] = [...POSTGRES_USER, join(this.#programs, program), ...args];
    // A started server inherits the output, so its end is not awaited.
    await promisify(execFile)(
      "/bin/sh",
      ["-c", '"$@" >/dev/null 2>&1 </dev/null', "sh", file, ...rest],
      {
        cwd: this.#directory,
      },
    );
  }
}
