/** The table of nodes, as two processes read and write it that come and go. */
import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { NodeTable } from "../../../src/state/postgres/node-table.ts";
import { openPostgres } from "../../../src/state/postgres/open.ts";
import { PATIENCE } from "../../support/patience.ts";
import { describeWithPostgres, postgres } from "../../support/postgres.ts";

const LONGEST = Number.MAX_SAFE_INTEGER;

/** Tables of nodes over a database of their own. Without a lease, a beat that was heard once is heard too late next time. */
async function openTables() {
  const url = await postgres().makeDatabase();
  const { store } = await openPostgres({ url, schema: "agtp" });
  await store?.close();
  const pool = new pg.Pool({ connectionString: url });
  onTestFinished(() => pool.end());
  const tableOf = (node: string, process: string, leaseMs = 0): NodeTable => {
    const row = { address: "127.0.0.1:1", version: "0", node, process, leaseMs };
    return new NodeTable(pool, `"agtp"`, row);
  };
  return { url, tableOf };
}

describeWithPostgres("a node that comes back under its name", () => {
  it("lives as soon as it is there, with as many beats as its last process had", async () => {
    const { tableOf } = await openTables();
    const [a, first] = [tableOf("a", "a-1"), tableOf("b", "b-1")];
    await a.enter();
    await first.enter();
    const processes = async () => (await a.beat(0, ""))?.map(({ process }) => process);
    expect(await processes()).toEqual(["b-1"]);
    expect(await processes()).toEqual([]);
    await first.leave();
    expect(await processes()).toEqual([]);

    const second = tableOf("b", "b-2");
    await second.enter();
    expect(await a.laggards(LONGEST)).toEqual([0]);
    await second.leave();
    await tableOf("b", "b-3").enter();
    expect(await processes()).toEqual(["b-3"]);
  });
});

describeWithPostgres("a node that is long gone by the server's clock", () => {
  const HOURS_LATER = "UPDATE agtp.nodes SET beat_at = beat_at - interval '2 hours'";

  it("is forgotten where it does not move either, and not where that clock was set", async () => {
    const { url, tableOf } = await openTables();
    const gone = tableOf("gone", "gone-1");
    const silent = tableOf("silent", "silent-1");
    const live = tableOf("live", "live-1", 60_000);
    await gone.enter();
    await silent.enter();
    await live.enter();
    await postgres().query(HOURS_LATER, url);

    const other = tableOf("other", "other-1");
    await other.enter();
    const nodes = async () => (await other.list()).map(({ node }) => node);
    expect(await nodes()).toEqual(["gone", "live", "other", "silent"]);
    await other.forgetGone();
    expect(await nodes()).toEqual(["gone", "live", "other", "silent"]);

    await other.beat(0, "");
    await other.beat(0, "");
    // It was found silent, and says something before it is forgotten.
    await silent.beat(0, "");
    await postgres().query(HOURS_LATER, url);
    await other.forgetGone();
    expect(await nodes()).toEqual(["live", "other", "silent"]);
  });
});

describeWithPostgres("a beat beside another node's, where the database begins serializable", () => {
  it("is made again, and no fault of the store", async () => {
    const url = await postgres().makeDatabase();
    const { store } = await openPostgres({ url, schema: "agtp" });
    await store?.close();
    const options = "-c default_transaction_isolation=serializable";
    const pool = new pg.Pool({ connectionString: url, options });
    const [holder, other] = [new pg.Client(url), new pg.Client({ connectionString: url, options })];
    await Promise.all([holder.connect(), other.connect()]);
    onTestFinished(async () => {
      await Promise.all([holder.end(), other.end(), pool.end()]);
    });
    const row = { address: "127.0.0.1:1", version: "0", leaseMs: 60_000 };
    const [a, b] = [
      new NodeTable(pool, `"agtp"`, { ...row, node: "a", process: "a-1" }),
      new NodeTable(pool, `"agtp"`, { ...row, node: "b", process: "b-1" }),
    ];
    await a.enter();
    await b.enter();
    await holder.query("BEGIN; SELECT FROM agtp.nodes WHERE node = 'a' FOR UPDATE");
    const beating = a.beat(0, "");
    const waits = `SELECT FROM pg_stat_activity
      WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    await vi.waitFor(
      async () => expect(await postgres().query(waits, url)).not.toEqual([]),
      PATIENCE,
    );
    // As a beat of b: it reads all rows, and writes its own.
    const beat = "UPDATE agtp.nodes SET beat = beat + 1 WHERE node = 'b'";
    await other.query(`BEGIN; SELECT beat FROM agtp.nodes; ${beat}; COMMIT`);
    await holder.query("COMMIT");
    expect((await beating)?.map(({ process }) => process)).toEqual(["b-1"]);
  });
});

describeWithPostgres("the nodes of a store", () => {
  it.each(["ISO, MDY", "German, DMY", "SQL, MDY"])(
    "are listed where dates are %s",
    async (style) => {
      const url = await postgres().makeDatabase();
      const { store } = await openPostgres({ url, schema: "agtp" });
      await store?.close();
      const options = `-c datestyle=${style.replaceAll(" ", "")} -c timezone=Asia/Tokyo`;
      const pool = new pg.Pool({ connectionString: url, options });
      onTestFinished(() => pool.end());
      const row = {
        node: "a",
        process: "a-1",
        address: "127.0.0.1:1",
        version: "0",
        leaseMs: 2_000,
      };
      const table = new NodeTable(pool, `"agtp"`, row);
      await table.enter();
      const [own] = await table.list();
      const at = "SELECT floor(extract(epoch FROM since) * 1000) AS at FROM agtp.nodes";
      const [since] = await postgres().query(at, url);
      expect(own).toMatchObject({ node: "a", state: "live" });
      expect(Date.parse(own?.since ?? "")).toBe(Number(since?.["at"]));
    },
  );
});
