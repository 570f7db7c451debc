/** What nodes share is exported at one moment, and imported as it was, from and into files as well. */
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { exportPostgres } from "../../../src/state/moving/export-postgres.ts";
import { ImportRefusal, importPostgres } from "../../../src/state/moving/import-postgres.ts";
import { importState } from "../../../src/state/moving/import-state.ts";
import { StateFileError } from "../../../src/state/moving/read-state-file.ts";
import { openPostgres } from "../../../src/state/postgres/open.ts";
import type { PostgresStore } from "../../../src/state/postgres/store.ts";
import { openState, type ServerState } from "../../../src/state/state.ts";
import { makeDirectory } from "../../support/directory.ts";
import { ALICE, BOB, entriesOf, grow } from "../../support/moving.ts";
import { describeWithPostgres, postgres } from "../../support/postgres.ts";
import { readJournal, readJws, walkChain } from "../../support/records.ts";
import { openTestStore } from "../../support/store.ts";

const onFault = (error: unknown): never => {
  throw error;
};

async function openShared(url: string): Promise<PostgresStore> {
  const { store, fault } = await openPostgres({ url, schema: "agtp" });
  if (store === undefined) throw new Error(fault.message);
  onTestFinished(() => store.close());
  return store;
}

async function openFiles(directory: string): Promise<ServerState> {
  const store = await openTestStore("sqlite", join(directory, "state.db"));
  const state = await openState({ store, journalDirectory: join(directory, "journal"), onFault });
  onTestFinished(() => state.close().catch(() => undefined));
  return state;
}

async function textOf(lines: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const line of lines) text += line;
  return text;
}

async function* octetsOf(text: string): AsyncGenerator<Buffer> {
  yield Buffer.from(text);
}

function importInto(store: PostgresStore, text: string, aside?: string) {
  const target = { store, schema: "agtp", aside, onHeader: () => undefined };
  return importPostgres(octetsOf(text), target);
}

async function chainIn(url: string, agent: string): Promise<readonly string[]> {
  const rows = await postgres().query("SELECT jws FROM agtp.records ORDER BY number", url);
  const records = rows.map(({ jws }) => readJws(String(jws)));
  return walkChain(records, agent).map(({ auditId }) => auditId);
}

async function headsIn(url: string): Promise<ReadonlyMap<unknown, unknown>> {
  const rows = await postgres().query("SELECT agent_id, audit_id FROM agtp.heads", url);
  return new Map(rows.map((row) => [row["agent_id"], row["audit_id"]]));
}

/** An export of thirty records in two chains, from files. */
async function makeExport(): Promise<{ readonly state: ServerState; readonly text: string }> {
  const state = await openFiles(makeDirectory());
  await grow(state, 30);
  return { state, text: await textOf(state.exported("agents.example")) };
}

describeWithPostgres("state that moves into PostgreSQL and out of it", () => {
  it("is as it was on both ways, and its chains go on", async () => {
    const { state, text } = await makeExport();
    const heads = new Map([ALICE, BOB].map((id) => [id, state.ledger.headOf(id)?.auditId]));
    const url = await postgres().makeDatabase();
    const store = await openShared(url);
    expect(await importInto(store, text)).toMatchObject({ records: 30, chains: 2 });
    expect(await entriesOf(store)).toEqual(await entriesOf(state.store));
    expect(await headsIn(url)).toEqual(heads);
    expect((await chainIn(url, ALICE)).at(-1)).toBe(heads.get(ALICE));
    expect(await store.list("chain-heads")).toEqual([]);

    const out = await textOf(exportPostgres(store, "agents.example"));
    const directory = makeDirectory();
    const target = await openTestStore("sqlite", join(directory, "state.db"));
    const journal = join(directory, "journal");
    const report = await importState(octetsOf(out), {
      ...{ store: target, directory: journal, onHeader: () => undefined },
    });
    expect(report).toMatchObject({ records: 30, chains: 2 });
    await target.close();
    const next = await openFiles(directory);
    expect(await entriesOf(next.store)).toEqual(await entriesOf(state.store));
    await grow(next, 3);
    expect(walkChain(readJournal(journal), ALICE)).toHaveLength(22);
  });

  it("is of one moment, whatever other nodes write beside it", async () => {
    const { text } = await makeExport();
    const url = await postgres().makeDatabase();
    const store = await openShared(url);
    await importInto(store, text);
    const other = await openShared(url);
    for (let more = 0; more < 1_200; more += 400) {
      const keys = Array.from({ length: 400 }, (_, at) => String(more + at).padStart(4, "0"));
      await other.commit(
        keys.map((key) => ({ kind: "put", collection: "things", key, value: "old" })),
      );
    }
    let exported = "";
    let count = 0;
    for await (const line of exportPostgres(store, "agents.example")) {
      exported += line;
      count += 1;
      if (count % 200 !== 0) continue;
      await other.commit([
        { kind: "put", collection: "things", key: "0000", value: count },
        { kind: "put", collection: "things", key: "1199", value: count },
        { kind: "delete", collection: "things", key: "0600" },
      ]);
    }
    const target = await openShared(await postgres().makeDatabase());
    await importInto(target, exported);
    for (const key of ["0000", "0600", "1199"]) {
      expect(await target.get("things", key)).toBe("old");
    }
  });

  it("keeps what is known of chains whose first records were taken away", async () => {
    const { text } = await makeExport();
    const url = await postgres().makeDatabase();
    await importInto(await openShared(url), text);
    // As after an import from a journal of which segments were taken away.
    await postgres().query("UPDATE agtp.meta SET value = '7' WHERE name = 'first_segment'", url);
    const [first] = await chainIn(url, ALICE);
    await postgres().query(`DELETE FROM agtp.records WHERE audit_id = '${first}'`, url);
    const out = await textOf(exportPostgres(await openShared(url), "agents.example"));
    const there = await postgres().makeDatabase();
    expect(await importInto(await openShared(there), out)).toMatchObject({ records: 29 });
    expect(await headsIn(there)).toEqual(await headsIn(url));
  });

  it("changes nothing where the file does not hold, is cut off, or something is there", async () => {
    const { text } = await makeExport();
    const url = await postgres().makeDatabase();
    const store = await openShared(url);
    await store.commit([{ kind: "put", collection: "things", key: "own", value: 1 }]);
    await expect(importInto(store, text)).rejects.toBeInstanceOf(ImportRefusal);
    for (const bad of [text.slice(0, -200), text.replace("key 7", "key 8")]) {
      await expect(importInto(store, bad, "aside")).rejects.toBeInstanceOf(StateFileError);
    }
    expect(await entriesOf(store)).toEqual([["own", 1]]);
    const schemas = await postgres().query(
      "SELECT nspname FROM pg_namespace WHERE nspname = 'aside'",
      url,
    );
    expect(schemas).toEqual([]);
  });

  it("sets what is there aside, whole, where it is told to", async () => {
    const { text } = await makeExport();
    const url = await postgres().makeDatabase();
    const store = await openShared(url);
    await store.commit([{ kind: "put", collection: "things", key: "own", value: 1 }]);
    expect(await importInto(store, text, "aside")).toMatchObject({ isSetAside: true });
    expect(await entriesOf(store)).toHaveLength(30);
    const [kept] = await postgres().query("SELECT key FROM aside.entries", url);
    expect(kept).toEqual({ key: "own" });
    // A node that had read before reads everything anew.
    expect((await store.changes(1)).changed).toBeUndefined();
  });

  it("is not imported beside a node that serves", async () => {
    const { text } = await makeExport();
    const url = await postgres().makeDatabase();
    const store = await openShared(url);
    await postgres().query(
      `INSERT INTO agtp.nodes (node, process, address, version, lease_ms)
        VALUES ('b', 'p', 'h:1', '1', 60000)`,
      url,
    );
    await expect(importInto(store, text)).rejects.toThrow('stop every daemon first: there is "b"');
  });
});
