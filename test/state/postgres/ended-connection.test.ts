/** A connection that ends while the server is at what was asked over it, as behind a statement timeout. */
import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { makePool } from "../../../src/state/postgres/driver.ts";
import { PATIENCE } from "../../support/patience.ts";
import { describeWithPostgres, postgres } from "../../support/postgres.ts";

const WAITING = `SELECT pid FROM pg_stat_activity
  WHERE datname = current_database() AND wait_event_type = 'Lock'`;

describeWithPostgres("a statement that waits for a lock", () => {
  it("is given up by the server once its connection has ended, and takes no place there", async () => {
    const url = await postgres().makeDatabase();
    const { pool } = makePool({ url, schema: "agtp" });
    if (pool === undefined) throw new Error("there is no pool");
    const holder = new pg.Client(url);
    await holder.connect();
    onTestFinished(async () => {
      await holder.end();
      await pool.end();
    });
    await holder.query("CREATE TABLE held ()");
    await holder.query("BEGIN");
    await holder.query("LOCK TABLE held");
    const client = await pool.connect();
    const asked = client.query("SELECT FROM held").catch(() => undefined);
    const waiting = () => postgres().query(WAITING, url);
    await vi.waitFor(async () => expect(await waiting()).toHaveLength(1), PATIENCE);
    client.release(true);
    await asked;
    await vi.waitFor(async () => expect(await waiting()).toEqual([]), PATIENCE);
  });
});
