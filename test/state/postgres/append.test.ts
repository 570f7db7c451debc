/** Batches of records, appended by compare-and-set: of one chain and of several, by nodes that race. */
import { join } from "node:path";
import pg from "pg";
import { expect, it, onTestFinished, vi } from "vitest";
import type { StateNotice } from "../../../src/state/notice.ts";
import { openNode, openPostgres } from "../../../src/state/postgres/open.ts";
import { Ledger } from "../../../src/state/records/ledger.ts";
import { NO_AUDIT_ID } from "../../../src/state/records/record.ts";
import type { RecordBatch, RecordStore } from "../../../src/state/records/record-store.ts";
import { StoreUnavailableError } from "../../../src/state/store-fault.ts";
import { makeDirectory } from "../../support/directory.ts";
import { makeDraft } from "../../support/ledger.ts";
import { PATIENCE } from "../../support/patience.ts";
import { describeWithPostgres, postgres } from "../../support/postgres.ts";

const [ALICE, BOB] = ["a".repeat(64), "b".repeat(64)];
const unexpected = (what: unknown): void => expect(what).toBeUndefined();

async function openRecords(
  url: string,
  name: string,
  onNotice: (notice: StateNotice) => void = unexpected,
): Promise<RecordStore> {
  const { store, fault } = await openPostgres({ url, schema: "agtp" });
  if (store === undefined) throw new Error(fault.message);
  const opened = await openNode(store, {
    ...{ node: name, address: "127.0.0.1:1", version: "0", leaseMs: 2_000 },
    acknowledgedPath: join(makeDirectory(), "acknowledged.json"),
    ...{ onNotice, onFault: unexpected },
  });
  if (typeof opened === "string" || "lost" in opened) throw new Error("it is no node");
  const { node, acknowledged, shared } = opened;
  await node.start();
  onTestFinished(async () => {
    await acknowledged.close();
    await node.close();
    await store.close();
  });
  return shared.records;
}

let made = 0;

/** Every character that an array's text would have to escape, and some of several octets. */
function methodOf(index: number): string {
  return `M${index},"NULL"\\{é☃} `;
}

/** Records of chains, each behind the head that is expected. */
function batchOf(
  expected: readonly (readonly [agentId: string, head: string, count: number])[],
): RecordBatch & { readonly ids: readonly string[] } {
  const records = expected.flatMap(([agentId, , count]) =>
    Array.from({ length: count }, (_, index) => {
      made += 1;
      const chain = { agentId, at: made, method: methodOf(index) };
      return { auditId: String(made).padStart(64, "0"), jws: `jws-${made}`, chain };
    }),
  );
  return {
    records,
    expected: new Map(expected.map(([agentId, head]) => [agentId, head])),
    ids: records.map(({ auditId }) => auditId),
  };
}

async function chainOf(url: string, agentId: string): Promise<readonly unknown[]> {
  const rows = await postgres().query(
    `SELECT audit_id FROM agtp.records WHERE agent_id = '${agentId}' ORDER BY number`,
    url,
  );
  return rows.map((row) => row["audit_id"]);
}

// AGTP-IDENTIFIERS "Attribution Chain"
describeWithPostgres("records that are appended to one chain, and to several", () => {
  it("stand in their order behind the head that was expected, which moves to the last", async () => {
    const url = await postgres().makeDatabase();
    const records = await openRecords(url, "a");
    const first = batchOf([[ALICE, NO_AUDIT_ID, 3]]);
    expect((await records.append(first)).moved).toEqual(new Map());
    const second = batchOf([[ALICE, first.ids[2] ?? "", 3]]);
    expect((await records.append(second)).moved).toEqual(new Map());
    const third = batchOf([
      [ALICE, second.ids[2] ?? "", 2],
      [BOB, NO_AUDIT_ID, 1],
    ]);
    expect((await records.append(third)).moved).toEqual(new Map());
    expect(await chainOf(url, ALICE)).toEqual([
      ...first.ids,
      ...second.ids,
      ...third.ids.slice(0, 2),
    ]);
    const last = third.records[1];
    expect((await records.headsOf?.([ALICE]))?.get(ALICE)).toEqual({
      ...{ auditId: last?.auditId, at: last?.chain.at, method: methodOf(1) },
    });
    const fourth = batchOf([[ALICE, last?.auditId ?? "", 1]]);
    expect((await records.append(fourth)).moved).toEqual(new Map());
    const [single] = fourth.records;
    expect(await chainOf(url, ALICE)).toHaveLength(9);
    expect(await records.find(single?.auditId ?? "")).toBe(single?.jws);
    expect((await records.headsOf?.([ALICE]))?.get(ALICE)).toEqual({
      ...{ auditId: single?.auditId, at: single?.chain.at, method: methodOf(0) },
    });
  });

  it("are none of them kept where the head is another, which is answered", async () => {
    const url = await postgres().makeDatabase();
    const [here, there] = [await openRecords(url, "a"), await openRecords(url, "b")];
    const first = batchOf([[ALICE, NO_AUDIT_ID, 1]]);
    await here.append(first);
    const [head = ""] = first.ids;
    const next = batchOf([[ALICE, head, 2]]);
    await there.append(next);
    const late = batchOf([[ALICE, head, 2]]);
    const { moved } = await here.append(late);
    expect(moved?.get(ALICE)?.auditId).toBe(next.ids[1]);
    const both = batchOf([
      [ALICE, head, 1],
      [BOB, NO_AUDIT_ID, 1],
    ]);
    expect([...((await here.append(both)).moved ?? [])].map(([agentId]) => agentId)).toEqual([
      ALICE,
    ]);
    expect(await chainOf(url, ALICE)).toEqual([...first.ids, ...next.ids]);
    expect(await chainOf(url, BOB)).toEqual(both.ids.slice(1));
  });

  it("are kept where the database has lost the chain of others that came with them", async () => {
    const url = await postgres().makeDatabase();
    const notices: StateNotice[] = [];
    const records = await openRecords(url, "a", (notice) => notices.push(notice));
    const first = batchOf([
      [ALICE, NO_AUDIT_ID, 2],
      [BOB, NO_AUDIT_ID, 1],
    ]);
    await records.append(first);
    const [oldest, lost = "", bob = ""] = first.ids;
    await postgres().query(`DELETE FROM agtp.records WHERE audit_id = '${lost}'`, url);
    const back = `UPDATE agtp.heads SET audit_id = '${oldest}' WHERE agent_id = '${ALICE}'`;
    await postgres().query(back, url);
    const heads = new Map(
      [lost, bob].map((auditId, index) => {
        return [index === 0 ? ALICE : BOB, { auditId, at: made, method: "" }] as const;
      }),
    );
    const failures: Error[] = [];
    const ledger = new Ledger(records, heads, (failure) => failures.push(failure));
    const drafts = [ALICE, BOB].map((agentId) => ledger.add(makeDraft(agentId)));
    await expect(ledger.settled()).rejects.toThrow(`it lacks record ${lost}`);
    expect(drafts.map(({ isKnown }) => isKnown)).toEqual([false, true]);
    expect(await chainOf(url, BOB)).toEqual([bob, drafts[1]?.auditId]);
    expect(await chainOf(url, ALICE)).toEqual([oldest]);
    expect(failures).toEqual([expect.any(StoreUnavailableError)]);
    expect(notices.map(({ event }) => event)).toEqual(["store-went-back"]);
    expect(ledger.isWritable).toBe(false);
    expect(ledger.headOf(BOB)?.auditId).toBe(drafts[1]?.auditId);
    // Neither chain goes on behind anything else.
    const later = [ALICE, BOB].map((agentId) => ledger.add(makeDraft(agentId)));
    await expect(ledger.settled()).rejects.toThrow(`it lacks record ${lost}`);
    expect(await chainOf(url, BOB)).toEqual([bob, drafts[1]?.auditId, later[1]?.auditId]);
  });

  it("are found where the database did not say at first what became of others", async () => {
    const url = await postgres().makeDatabase();
    const [here, there] = [await openRecords(url, "a"), await openRecords(url, "b")];
    const first = batchOf([[ALICE, NO_AUDIT_ID, 1]]);
    await here.append(first);
    const [head = ""] = first.ids;
    const next = batchOf([[ALICE, head, 1]]);
    await there.append(next);
    const both = batchOf([
      [ALICE, head, 1],
      [BOB, NO_AUDIT_ID, 1],
    ]);
    const refusal = Object.assign(new Error("canceling statement"), { code: "57014" });
    const ask = pg.Pool.prototype.query;
    const asked = vi.spyOn(pg.Pool.prototype, "query");
    onTestFinished(() => asked.mockRestore());
    asked.mockImplementation(function (this: pg.Pool, ...args: unknown[]): unknown {
      const isRefused = String(args[0]).startsWith("SELECT audit_id FROM");
      return isRefused ? Promise.reject(refusal) : Reflect.apply(ask, this, args);
    } as typeof ask);
    const appended = here.append(both);
    await vi.waitFor(
      async () => expect(await chainOf(url, BOB)).toEqual(both.ids.slice(1)),
      PATIENCE,
    );
    asked.mockRestore();
    const { moved } = await appended;
    expect([...(moved ?? [])].map(([agentId]) => agentId)).toEqual([ALICE]);
    expect(await chainOf(url, ALICE)).toEqual([...first.ids, ...next.ids]);
  });

  it("are won by one of many that expect the same head at the same time, again and again", async () => {
    const url = await postgres().makeDatabase();
    const nodes = [await openRecords(url, "a"), await openRecords(url, "b")];
    const first = batchOf([
      [ALICE, NO_AUDIT_ID, 1],
      [BOB, NO_AUDIT_ID, 1],
    ]);
    await nodes[0]?.append(first);
    let [alice = "", bob = ""] = first.ids;
    for (let round = 0; round < 25; round += 1) {
      const tried = nodes.flatMap((node) => [
        { node, batch: batchOf([[ALICE, alice, 2]]) },
        {
          node,
          batch: batchOf([
            [ALICE, alice, 1],
            [BOB, bob, 1],
          ]),
        },
        { node, batch: batchOf([[BOB, bob, 1]]) },
      ]);
      const outcomes = await Promise.all(
        tried.map(async ({ node, batch }) => ({ batch, ...(await node.append(batch)) })),
      );
      for (const agentId of [ALICE, BOB]) {
        const won = outcomes.filter(
          ({ batch, moved }) => batch.expected.has(agentId) && moved?.has(agentId) !== true,
        );
        expect(won).toHaveLength(1);
        const kept = won[0]?.batch.records.filter(({ chain }) => chain.agentId === agentId) ?? [];
        expect((await chainOf(url, agentId)).slice(-kept.length)).toEqual(
          kept.map(({ auditId }) => auditId),
        );
        const end = kept.at(-1)?.auditId ?? "";
        if (agentId === ALICE) alice = end;
        else bob = end;
      }
    }
  });
});
