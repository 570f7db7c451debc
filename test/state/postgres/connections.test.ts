/** Connections of a role that has few, whose commits may be lost, and whose statements others cut off. */
import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { makePool } from "../../../src/state/postgres/driver.ts";
import { findStoreFault } from "../../../src/state/store-fault.ts";
import { PATIENCE } from "../../support/patience.ts";
import { describeWithPostgres, openPostgres, postgres } from "../../support/postgres.ts";

/** A database of a role of its own, which is given these properties. */
async function asRole(role: string, ...properties: readonly string[]): Promise<string> {
  const url = await postgres().makeDatabase();
  await postgres().query(`CREATE ROLE ${role} LOGIN`);
  for (const one of properties) await postgres().query(`ALTER ROLE ${role} ${one}`);
  await postgres().query(`CREATE SCHEMA agtp AUTHORIZATION ${role}`, url);
  return url.replace("//agtp@", `//${role}@`);
}

describeWithPostgres("the connections to PostgreSQL", () => {
  it("wait for each other where the server gives no more of them", async () => {
    const url = await asRole("few", "CONNECTION LIMIT 3");
    const { pool } = makePool({ url, schema: "agtp" });
    if (pool === undefined) throw new Error("there is no pool");
    const held = await Promise.all([pool.connect(), pool.connect(), pool.connect()]);
    const asked = Promise.all(
      [1, 2, 3, 4].map(async (number) => {
        const { rows } = await pool.query<{ number: number }>("SELECT $1::int AS number", [number]);
        return rows[0]?.number;
      }),
    );
    onTestFinished(async () => {
      for (const client of held) client.release();
      await pool.end();
    });
    await vi.waitFor(() => expect(pool.waitingCount).toBe(4), PATIENCE);
    held.pop()?.release();
    expect(await asked).toEqual([1, 2, 3, 4]);
  });

  it("are told of as too many where there is none of them", async () => {
    const url = await asRole("barred", "CONNECTION LIMIT 0");
    const { pool } = makePool({ url, schema: "agtp" });
    onTestFinished(() => pool?.end());
    await expect(pool?.query("SELECT 1")).rejects.toMatchObject({ code: "53300" });
  });

  it("lose no commit that was answered, whatever the role's own default is", async () => {
    const restart = (more = ""): void => {
      postgres().crash();
      postgres().start(more);
    };
    // Nothing but a commit that asks for it writes the log within that time.
    restart("-c wal_writer_delay=10s");
    onTestFinished(() => restart());
    const url = await asRole("hasty", "SET synchronous_commit = off");
    const store = await openPostgres(url);
    await store.commit([{ kind: "put", collection: "c", key: "k", value: 1 }]);
    restart();
    expect(await (await openPostgres(url)).get("c", "k")).toBe(1);
  });

  it("are not told of as cut off where the server gives up what is asked over them", async () => {
    const url = await postgres().makeDatabase();
    const store = await openPostgres(url);
    const holder = new pg.Client(url);
    await holder.connect();
    onTestFinished(() => holder.end());
    await holder.query("BEGIN; LOCK TABLE agtp.entries");
    const asked = store.get("c", "k").then(
      () => undefined,
      (error: unknown) => findStoreFault(error),
    );
    await vi.waitFor(async () => {
      const [given] = await postgres().query(
        `SELECT pg_cancel_backend(pid) AS up FROM pg_stat_activity
          WHERE datname = current_database() AND wait_event_type = 'Lock'`,
        url,
      );
      expect(given).toEqual({ up: true });
    }, PATIENCE);
    expect(await asked).toMatchObject({ kind: "unusable" });
  });
});
