/** Commits to a database of several nodes, where something happens in the middle of one. */
import type { Pool, PoolClient } from "pg";
import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import { COMMITS_A_TRANSACTION, PostgresCommitter } from "../../../src/state/postgres/commit.ts";
import type { PostgresStore } from "../../../src/state/postgres/store.ts";
import type { Change, CommitOutcome } from "../../../src/state/store.ts";
import { StoreUnavailableError } from "../../../src/state/store-fault.ts";
import { PATIENCE } from "../../support/patience.ts";
import { describeWithPostgres, openPostgres, postgres } from "../../support/postgres.ts";

const openStore = async (url: string) => (await openPostgres(url)) as PostgresStore;

const put = (key: string): readonly Change[] => [
  { kind: "put", collection: "words", key, value: "said" },
];

/** Does something in the place of the next COMMIT. */
function atCommit(pool: Pool, act: (client: PoolClient) => Promise<unknown>): void {
  const connect: (...given: unknown[]) => Promise<PoolClient> = pool.connect.bind(pool) as never;
  let isDone = false;
  vi.spyOn(pool, "connect").mockImplementation((async (...given: unknown[]) => {
    const client = await connect(...given);
    // Without a callback it is asked for a transaction.
    if (given.length > 0) return client;
    const query: (...asked: unknown[]) => Promise<unknown> = client.query.bind(client) as never;
    client.query = (async (...asked: unknown[]) => {
      if (asked[0] !== "COMMIT" || isDone) return query(...asked);
      isDone = true;
      return act(client);
    }) as never;
    return client;
  }) as never);
}

/** Does something in the place of the next COMMIT, which then has no answer. */
function loseCommit(pool: Pool, instead: (client: PoolClient) => Promise<void>): void {
  atCommit(pool, async (client) => {
    await instead(client);
    throw new Error("Connection terminated unexpectedly");
  });
}

async function transactionOf(client: PoolClient): Promise<number> {
  const { rows } = await client.query("SELECT pg_current_xact_id()::text AS number");
  return Number(rows[0].number);
}

function numberOf(outcome: CommitOutcome): number {
  return outcome.kind === "committed" ? Math.floor(outcome.revision / COMMITS_A_TRANSACTION) : 0;
}

it("is found where it is made while it is looked for", async () => {
  const ended = new Error("Connection terminated unexpectedly");
  const query = async (sql: string) => {
    if (sql === "COMMIT") throw ended;
    return { rows: sql.startsWith("WITH current") ? [{ number: "7", made_at: "1.5" }] : [] };
  };
  // The status is of now, and what is found is of when the question began.
  const found = [false, true];
  const pool = {
    connect: async () => ({ query, release: () => undefined }),
    query: async () => ({ rows: [{ status: "committed", made: found.shift() }] }),
  } as unknown as Pool;
  const changes = [{ collection: "words", key: "word", json: '"said"' }];
  const made = new PostgresCommitter(pool, "agtp").commit([{ changes, expectations: [] }]);
  expect((await made).map(numberOf)).toEqual([7]);
});

describeWithPostgres("a commit whose answer is lost", () => {
  it("is found where it was made", async () => {
    const store = await openStore(await postgres().makeDatabase());
    loseCommit(store.pool, async (client) => void (await client.query("COMMIT ")));
    expect(await store.commit(put("word"))).toMatchObject({ kind: "committed" });
    expect(await store.get("words", "word")).toBe("said");
  });

  it("is not taken for one that a server which crashed before has given its number to", async () => {
    const url = await postgres().makeDatabase();
    const [store, other] = [await openStore(url), await openStore(url)];
    let [lost, made] = [0, 0];
    loseCommit(store.pool, async (client) => {
      lost = await transactionOf(client);
      postgres().crash();
      postgres().start();
      while (made < lost) {
        // The connections from before the crash fail, one after the other.
        made = await other.commit(put("other")).then(numberOf, () => made);
      }
    });
    await expect(store.commit(put("word"))).rejects.toThrow(StoreUnavailableError);
    expect(made).toBe(lost);
    expect(await store.get("words", "word")).toBeUndefined();
    expect(await store.get("words", "other")).toBe("said");
  });
});

describeWithPostgres("a commit that waits for another one", () => {
  it.each(["read committed", "repeatable read", "serializable"])(
    "is decided from what that one has made, where the database begins %s",
    async (isolation) => {
      const url = await postgres().makeDatabase();
      const [name] = await postgres().query("SELECT current_database() AS name", url);
      const database = pg.escapeIdentifier(String(name?.["name"]));
      const set = `SET default_transaction_isolation = '${isolation}'`;
      await postgres().query(`ALTER DATABASE ${database} ${set}`, url);
      // Of two that make the schema at the same time, one waits for the other, too.
      const [store, other] = await Promise.all([openStore(url), openStore(url)]);
      const before = await store.commit(put("word"));
      const revision = before.kind === "committed" ? before.revision : 0;
      const expected = { collection: "words", key: "word", revision };
      let waiting: Promise<CommitOutcome> | undefined;
      atCommit(store.pool, async (client) => {
        waiting = other.commit(put("next"), [expected]);
        const locks = "SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
        await vi.waitFor(
          async () => expect(await postgres().query(locks, url)).toHaveLength(1),
          PATIENCE,
        );
        return client.query("COMMIT ");
      });
      await store.commit(put("word"));
      expect(await waiting).toEqual({ kind: "conflict", failed: [expected] });
      expect(await store.get("words", "next")).toBeUndefined();
    },
  );
});

describeWithPostgres("a change that the database refuses by a rule of somebody else's", () => {
  it.each([
    ["a constraint", "ALTER TABLE agtp.entries ADD CHECK (length(value) > 100) NOT VALID"],
    [
      "a trigger",
      `CREATE FUNCTION agtp.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
          RAISE EXCEPTION 'not today'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON agtp.entries EXECUTE FUNCTION agtp.refuse()`,
    ],
    ["a column that has another name", "ALTER TABLE agtp.entries RENAME COLUMN value TO text"],
  ])("is not kept, and is the store's fault: %s", async (_, rule) => {
    const url = await postgres().makeDatabase();
    const told: unknown[] = [];
    const store = await openPostgres(url, ({ event, fields }) => {
      told.push([event, fields["kind"]]);
    });
    await postgres().query(rule, url);
    await expect(store.commit(put("word"))).rejects.toThrow(StoreUnavailableError);
    expect(told).toEqual([["store-unavailable", "unusable"]]);
  });
});

describeWithPostgres("a question to a store that is written all the time", () => {
  it("waits for the commits that were asked for before it, and for none after them", async () => {
    const url = await postgres().makeDatabase();
    const store = await openStore(url);
    await store.commit(put("held"));
    const holder = new pg.Client(url);
    await holder.connect();
    onTestFinished(() => holder.end());
    await holder.query("BEGIN; SELECT FROM agtp.entries FOR UPDATE");
    const begun = vi.spyOn(store.pool, "connect");
    const first = store.commit(put("word"));
    const feed = store.feed({ after: 0, only: undefined });
    await vi.waitFor(() => expect(begun).toHaveBeenCalled(), { ...PATIENCE, interval: 1 });
    let isMade = false;
    const second = store.commit(put("held")).then(() => {
      isMade = true;
    });
    await first;
    await feed;
    expect(isMade).toBe(false);
    await holder.query("COMMIT");
    await second;
  });
});
