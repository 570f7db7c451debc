/** Nodes over one database, without daemons around them. */
import { join } from "node:path";
import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { textIn } from "../../../src/base/json-value.ts";
import { Collection } from "../../../src/state/collection.ts";
import type { StateNotice } from "../../../src/state/notice.ts";
import { forgetChanges } from "../../../src/state/postgres/feed.ts";
import type { PostgresNode } from "../../../src/state/postgres/node.ts";
import { openNode, openPostgres } from "../../../src/state/postgres/open.ts";
import { StoreUnavailableError } from "../../../src/state/store-fault.ts";
import { Link } from "../../../tools/torture/cluster/link.ts";
import { makeDirectory } from "../../support/directory.ts";
import { PATIENCE } from "../../support/patience.ts";
import { describeWithPostgres, postgres } from "../../support/postgres.ts";

/** The place from which nothing has changed. */
const NOW = { after: Number.MAX_SAFE_INTEGER - 1, only: undefined };

const unexpected = (what: unknown): void => expect(what).toBeUndefined();

async function openTestNode(
  url: string,
  name: string,
  leaseMs = 2_000,
  onNotice: (notice: StateNotice) => void = unexpected,
) {
  const { store, fault } = await openPostgres({ url, schema: "agtp" });
  if (store === undefined) throw new Error(fault.message);
  const opened = await openNode(store, {
    ...{ node: name, address: "127.0.0.1:1", version: "0", leaseMs },
    acknowledgedPath: join(makeDirectory(), "acknowledged.json"),
    ...{ onNotice, onFault: unexpected },
  });
  if (typeof opened === "string" || "lost" in opened) throw new Error("it is no node");
  const { node, acknowledged } = opened;
  const words = await Collection.open<string>(store, {
    name: "words",
    read: (value) => (typeof value === "string" ? value : undefined),
  });
  await node.start();
  const end = async (): Promise<void> => {
    await acknowledged.close();
    await node.close();
    await store.close();
  };
  onTestFinished(end);
  return { node, store, words, end };
}

/** A link to a database, and its URL by way of there. */
async function openLink(url: string): Promise<{ readonly link: Link; readonly linked: string }> {
  const link = await Link.open(join(postgres().directory, ".s.PGSQL.5432"));
  onTestFinished(() => link.close());
  const [base, options] = [new URL(url.replace("@/", "@localhost/")), "sslmode=disable"];
  const linked = `postgres://agtp@127.0.0.1:${link.port}${base.pathname}?${options}`;
  return { link, linked };
}

/** A look has half a second; on a busy machine the database may need longer, and is asked again. */
function caughtUp(node: Pick<PostgresNode, "catchUp">): Promise<void> {
  return vi.waitFor(() => node.catchUp(), PATIENCE);
}

/** Writes the word "slow" in a transaction that stays open. */
async function beginSlowly(url: string): Promise<pg.Client> {
  const slow = new pg.Client(url);
  await slow.connect();
  onTestFinished(() => slow.end());
  await slow.query("BEGIN");
  await slow.query(`INSERT INTO agtp.entries
    SELECT 'words', 'slow', '"said"', pg_current_xact_id()::text::bigint * 4096`);
  await slow.query(`INSERT INTO agtp.changes (transaction, collection, key)
    SELECT pg_current_xact_id()::text::bigint, 'words', 'slow'`);
  return slow;
}

describeWithPostgres("a node that asks what others have committed", () => {
  it("has it once it has caught up, however short the time was", async () => {
    const url = await postgres().makeDatabase();
    const [a, b] = [await openTestNode(url, "a"), await openTestNode(url, "b")];
    for (let round = 0; round < 20; round += 1) {
      await a.words.put(`word-${round}`, "said");
      await caughtUp(b.node);
      expect(b.words.get(`word-${round}`)).toBe("said");
    }
  });

  it("has what was committed while something was opened, and it was asking what has changed", async () => {
    const url = await postgres().makeDatabase();
    const [a, b] = [await openTestNode(url, "a"), await openTestNode(url, "b")];
    const ask: typeof b.store.feed = b.store.feed.bind(b.store);
    const opened = new Promise<Collection<string>>((resolve) => {
      vi.spyOn(b.store, "feed").mockImplementationOnce(async (start) => {
        const name = "late";
        const late = await Collection.open<string>(b.store, { name, read: textIn });
        await a.store.commit([{ kind: "put", collection: name, key: "word", value: "said" }]);
        resolve(late);
        return ask(start);
      });
    });
    const late = await opened;
    await caughtUp(b.node);
    await caughtUp(b.node);
    expect(late.get("word")).toBe("said");
  });

  it("does not take for absent what it cannot hear of", async () => {
    const url = await postgres().makeDatabase();
    const { link, linked } = await openLink(url);
    const [a, b] = [await openTestNode(url, "a"), await openTestNode(linked, "b")];
    for (const state of ["cut", "half-open"] as const) {
      link.set(state);
      await a.words.put(state, "said");
      // Its lease has not run out: it still serves from what it knows.
      expect(b.node.isFresh).toBe(true);
      await expect(b.node.catchUp()).rejects.toThrow(StoreUnavailableError);
      expect(b.words.get(state)).toBeUndefined();
      link.set("open");
      await caughtUp(b.node);
      expect(b.words.get(state)).toBe("said");
      await vi.waitFor(() => expect(b.node.isFresh).toBe(true), PATIENCE);
    }
  });

  it("hears of everything once, and of what goes, while a transaction elsewhere stays open", async () => {
    const url = await postgres().makeDatabase();
    const elsewhere = new pg.Client(await postgres().makeDatabase());
    await elsewhere.connect();
    onTestFinished(() => elsewhere.end());
    const [a, b] = [await openTestNode(url, "a"), await openTestNode(url, "b")];
    await a.words.put("old", "said");
    await elsewhere.query("BEGIN");
    await elsewhere.query("SELECT pg_current_xact_id()");
    await a.words.put("word", "said");
    await a.words.put("more", "said");
    await caughtUp(b.node);
    expect(b.words.get("word")).toBe("said");
    await a.words.delete(["word", "old"]);
    await caughtUp(b.node);
    expect([b.words.get("word"), b.words.get("old")]).toEqual([undefined, undefined]);
    expect(b.words.get("more")).toBe("said");

    // Nor does it hear again and again of what it knows, also when that is forgotten.
    await postgres().query("UPDATE agtp.changes SET made_at = made_at - interval '1 hour'", url);
    await forgetChanges(b.store.pool, b.store.name);
    expect(await postgres().query("SELECT FROM agtp.changes", url)).toEqual([]);
    const feed = vi.spyOn(b.store, "feed");
    await a.words.put("word", "again");
    await caughtUp(b.node);
    await caughtUp(b.node);
    expect(b.words.get("word")).toBe("again");
    const told = await Promise.all(feed.mock.results.map(({ value }) => value));
    expect(told.map(({ changed }) => changed)).not.toContain(undefined);
    expect(told.flatMap(({ changed }) => changed ?? []).map(({ key }) => key)).toEqual(["word"]);
    // A collection that is opened now reads all there is, and hears what goes.
    const late = await Collection.open<string>(b.store, { name: "words", read: String });
    await a.words.delete(["more"]);
    await caughtUp(b.node);
    expect([late.get("more"), late.get("word")]).toEqual([undefined, "again"]);
  });

  it("hears of a change whose transaction was open when it asked, once that is made", async () => {
    const url = await postgres().makeDatabase();
    const [a, b] = [await openTestNode(url, "a"), await openTestNode(url, "b")];
    const slow = await beginSlowly(url);
    for (const key of ["one", "two"]) {
      await a.words.put(key, "said");
      await caughtUp(b.node);
      expect([b.words.get(key), b.words.get("slow")]).toEqual(["said", undefined]);
    }
    await slow.query("COMMIT");
    await caughtUp(b.node);
    expect(b.words.get("slow")).toBe("said");
  });

  it("is told to read all where what was under way when it asked is forgotten by now", async () => {
    const url = await postgres().makeDatabase();
    const { store } = await openTestNode(url, "a");
    const slow = await beginSlowly(url);
    await store.commit([{ kind: "put", collection: "words", key: "one", value: "said" }]);
    const { upTo, cursor } = await store.feed({ after: 0, only: ["words"] });
    await slow.query("COMMIT");
    await postgres().query("UPDATE agtp.changes SET made_at = made_at - interval '1 hour'", url);
    await forgetChanges(store.pool, store.name);
    expect(await postgres().query("SELECT FROM agtp.changes", url)).toEqual([]);
    const feed = await store.feed({ after: upTo, only: ["words"], cursor });
    expect(feed.changed).toBeUndefined();
    const next = await store.feed({ after: upTo, only: ["words"], cursor: feed.cursor });
    expect(next.changed).toEqual([]);
  });

  it("serves nobody while it restores what another server lacks, and then at once", async () => {
    const url = await postgres().makeDatabase();
    const { node, store } = await openTestNode(url, "a", 60_000);
    const fresh: boolean[] = [];
    node.whenAnew(async () => void fresh.push(node.isFresh));
    const feed = store.feed.bind(store);
    const other = vi.spyOn(store, "feed");
    other.mockImplementation(async (...asked) => ({
      ...(await feed(...asked)),
      server: "another",
    }));
    await caughtUp(node);
    expect(fresh).toEqual([false]);
    await vi.waitFor(() => expect(node.isFresh).toBe(true), PATIENCE);
    expect(fresh).toEqual([false]);
  });

  it("takes the server for the same when connections come to have another time zone", async () => {
    const url = await postgres().makeDatabase();
    const { node } = await openTestNode(url, "a");
    let anew = 0;
    node.whenAnew(async () => {
      anew += 1;
    });
    await caughtUp(node);
    const database = new URL(url.replace("@/", "@localhost/")).pathname.slice(1);
    await postgres().query(`ALTER DATABASE ${database} SET timezone = 'Asia/Tokyo'`);
    await postgres().query(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}'`,
    );
    for (let look = 0; look < 3; look += 1) await caughtUp(node);
    expect(anew).toBe(0);
  });

  it("asks once for all who ask at the same time", async () => {
    const url = await postgres().makeDatabase();
    const { node, store } = await openTestNode(url, "a");
    await caughtUp(node);
    const feed = vi.spyOn(store, "feed");
    await Promise.all(Array.from({ length: 1_000 }, () => node.catchUp()));
    // The look that was asked for, one that was under way, and those that are made anyhow.
    expect(feed.mock.calls.length).toBeLessThan(20);
  });

  it("waits for the longest lease of all where the database does not say who has heard", async () => {
    const url = await postgres().makeDatabase();
    const a = await openTestNode(url, "a", 500);
    const b = await openTestNode(url, "b", 3_000);
    const { upTo } = await a.store.feed(NOW);
    const joined = performance.now();
    const hasHeard = () => a.node.figures().heartbeatAgeMs < performance.now() - joined;
    await vi.waitFor(() => expect(hasHeard()).toBe(true), PATIENCE);
    const unreachable = vi.spyOn(a.store.pool, "query");
    unreachable.mockImplementation((() => Promise.reject(new Error("it is gone"))) as never);
    const asked = performance.now();
    await a.node.everywhere(upTo + 1_000_000);
    unreachable.mockRestore();
    // Until then the other may serve from what was before.
    expect(performance.now() - asked).toBeGreaterThanOrEqual(3_000);
    expect(b.node.isFresh).toBe(true);
  });

  it("waits for the others' lease also where it ends meanwhile", async () => {
    const url = await postgres().makeDatabase();
    const [a] = [await openTestNode(url, "a", 1_000), await openTestNode(url, "b", 1_000)];
    const { upTo } = await a.store.feed(NOW);
    const asked = performance.now();
    const heard = a.node.everywhere(upTo + 1_000_000);
    await a.end();
    await heard;
    expect(performance.now() - asked).toBeGreaterThanOrEqual(1_000);
  });

  it("forgets all changes that are old, however many there are", async () => {
    const url = await postgres().makeDatabase();
    const { node } = await openTestNode(url, "a");
    await postgres().query(
      `INSERT INTO agtp.changes SELECT n, 'words', 'word', clock_timestamp() - interval '1 hour'
        FROM generate_series(1, 25000) AS n`,
      url,
    );
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, "now").mockImplementation(() => now() + 61_000);
    onTestFinished(() => clock.mockRestore());
    await vi.waitFor(async () => {
      await node.catchUp();
      expect(await postgres().query("SELECT FROM agtp.changes LIMIT 1", url)).toEqual([]);
    }, PATIENCE);
    const meta = "SELECT value FROM agtp.meta WHERE name = 'forgotten'";
    expect(await postgres().query(meta, url)).toEqual([{ value: "25000" }]);
  });

  it("forgets beside another node also where the database begins repeatable read", async () => {
    const url = await postgres().makeDatabase();
    const { store } = await openTestNode(url, "a");
    await postgres().query(
      `INSERT INTO agtp.changes SELECT n, 'words', 'word', clock_timestamp() - interval '1 hour'
        FROM generate_series(1, 10) AS n`,
      url,
    );
    const pool = new pg.Pool({
      connectionString: url,
      options: "-c default_transaction_isolation=repeatable\\ read",
    });
    onTestFinished(() => pool.end());
    const other = new pg.Client(url);
    await other.connect();
    onTestFinished(() => other.end());
    await other.query("BEGIN; UPDATE agtp.meta SET value = '1' WHERE name = 'forgotten'");
    const forgetting = forgetChanges(pool, store.name);
    const waits = "SELECT FROM pg_locks WHERE NOT granted";
    await vi.waitFor(
      async () => expect(await postgres().query(waits, url)).not.toEqual([]),
      PATIENCE,
    );
    await other.query("COMMIT");
    expect(await forgetting).toBe(false);
    const meta = "SELECT value FROM agtp.meta WHERE name = 'forgotten'";
    expect(await postgres().query(meta, url)).toEqual([{ value: "10" }]);
  });

  it("finds a process gone that has ended, and none that serves", async () => {
    const url = await postgres().makeDatabase();
    const [a, b] = [await openTestNode(url, "a"), await openTestNode(url, "b")];
    let told = 0;
    b.node.holders.watch(() => {
      told += 1;
    });
    const { self } = a.node.holders;
    expect(b.node.holders.isGone(self)).toBe(false);
    await b.node.everywhere(0);
    expect(b.node.holders.isGone(self)).toBe(false);
    await a.node.close();
    await vi.waitFor(() => expect(b.node.holders.isGone(self)).toBe(true), PATIENCE);
    expect(told).toBeGreaterThan(0);
    expect(b.node.holders.isGone(b.node.holders.self)).toBe(false);
  });
});

describeWithPostgres("a node whose row is gone", () => {
  it("takes its name anew where it was away for so long that another forgot it", async () => {
    const url = await postgres().makeDatabase();
    const { link, linked } = await openLink(url);
    const a = await openTestNode(linked, "a", 2_000, () => undefined);
    link.set("cut");
    await vi.waitFor(() => expect(a.node.isFresh).toBe(false), PATIENCE);
    await postgres().query("DELETE FROM agtp.nodes", url);
    const b = await openTestNode(url, "b");
    expect((await b.node.nodes()).map(({ node }) => node)).toEqual(["b"]);
    link.set("open");
    await vi.waitFor(() => expect(a.node.isFresh).toBe(true), PATIENCE);
    expect((await b.node.nodes()).map(({ node }) => node)).toEqual(["a", "b"]);
    await b.words.put("word", "said");
    await caughtUp(a.node);
    expect(a.words.get("word")).toBe("said");
  });

  it("is that node no more where another process has taken its name meanwhile", async () => {
    const url = await postgres().makeDatabase();
    const notices: string[] = [];
    const a = await openTestNode(url, "a", 2_000, ({ event }) => void notices.push(event));
    await postgres().query("UPDATE agtp.nodes SET process = 'another'", url);
    await vi.waitFor(() => expect(notices).toContain("node-taken-over"), PATIENCE);
    expect(a.node.isFresh).toBe(false);
  });
});
