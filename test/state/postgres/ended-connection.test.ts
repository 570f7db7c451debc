/** A connection that ends while the server is at what was asked over it: behind a statement timeout, or by its answer. */
import { createServer } from "node:net";
import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { makePool } from "../../../src/state/postgres/driver.ts";
import { PATIENCE } from "../../support/patience.ts";
import { listen } from "../../support/port.ts";
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

/** Messages of a server: it takes whoever comes, and is ready. */
const WELCOME = "R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";

it.each([
  ["a row that is shorter than it says", "D\0\0\0\x06\0\x09"],
  ["a notice without its end", "A\0\0\0\x05x"],
])("an answer that is no message of the protocol fails what was asked: %s", async (_, answer) => {
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.once("data", () => {
      socket.write(WELCOME, "latin1");
      socket.on("data", () => socket.write(answer, "latin1"));
    });
  });
  const port = await listen(server);
  const { pool } = makePool({ url: `postgres://agtp@127.0.0.1:${port}/agtp`, schema: "agtp" });
  if (pool === undefined) throw new Error("there is no pool");
  onTestFinished(() => pool.end());
  const fault: unknown = await pool.query("SELECT 1").catch((error: unknown) => error);
  expect(String(fault)).toContain("no message of the protocol");
});
