/**
 * PgBouncer in transaction mode before the PostgreSQL of the running suite, with fewer connections to
 * it than any daemon has to the pooler. Found by the variable PGBOUNCER, else at Debian's place.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { chmodSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import pg from "pg";
import { onTestFinished, vi } from "vitest";
import { POSTGRES_USER } from "../../tools/find-postgres.ts";
import { makeDirectory } from "./directory.ts";
import { PATIENCE } from "./patience.ts";
import { postgres } from "./postgres.ts";

const PLACES = [process.env["PGBOUNCER"] ?? "", "/usr/sbin/pgbouncer", "/usr/bin/pgbouncer"];

/** The program; undefined where there is none. */
export const PGBOUNCER: string | undefined = PLACES.find((path) => path !== "" && existsSync(path));

const PORT = 6432;

/** Starts it for the running test; answers a database's URL as it is behind the pooler. */
export async function pooled(url: string): Promise<string> {
  const directory = makeDirectory();
  chmodSync(directory, 0o777);
  const config = join(directory, "pgbouncer.ini");
  writeFileSync(join(directory, "users.txt"), '"agtp" ""\n');
  writeFileSync(
    config,
    `[databases]
* = host=${postgres().directory}
[pgbouncer]
listen_port = ${PORT}
unix_socket_dir = ${directory}
auth_type = trust
auth_file = ${join(directory, "users.txt")}
pool_mode = transaction
default_pool_size = 3
max_client_conn = 100
`,
  );
  const [file = "", ...args] = [...POSTGRES_USER, PGBOUNCER ?? "", "--quiet", config];
  const child: ChildProcess = spawn(file, args, { stdio: "ignore" });
  // Passed on by who runs it as another user.
  onTestFinished(async () => {
    const gone = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await gone;
  });
  const behind = url.replace(/host=[^&]*/, `host=${encodeURIComponent(directory)}&port=${PORT}`);
  await vi.waitFor(async () => {
    const client = new pg.Client({ connectionString: behind });
    await client.connect();
    await client.end();
  }, PATIENCE);
  return behind;
}
