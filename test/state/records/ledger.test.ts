import { setImmediate as nextTurn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { JournalRecord } from "../../../src/state/journal/journal.ts";
import { Ledger } from "../../../src/state/records/ledger.ts";
import {
  type Deliver,
  NO_AUDIT_ID,
  type Sealer,
  type SealingJob,
} from "../../../src/state/records/record.ts";
import {
  type ChainHead,
  ChainHeads,
  createJournalStore,
} from "../../../src/state/records/record-store.ts";
import { createRecordSigner, sealAll } from "../../../src/state/records/sealer.ts";
import { BreakableJournal, makeDraft } from "../../support/ledger.ts";
import { readJws, sha256, walkChain } from "../../support/records.ts";

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);

function openLedger(heads: ReadonlyMap<string, ChainHead> = new Map()) {
  const journal = new BreakableJournal();
  const failures: Error[] = [];
  const ledger = new Ledger(createJournalStore(journal), heads, (error) => failures.push(error));
  return { journal, failures, ledger };
}

/** Seals when it is told to, a whole job or one record at a time. */
class SlowSealer implements Sealer {
  readonly #waiting: { deliver: Deliver; resolve: Deliver; records: readonly JournalRecord[] }[] =
    [];
  readonly jobs: SealingJob[] = [];

  seal(job: SealingJob, deliver: Deliver): Promise<readonly JournalRecord[]> {
    this.jobs.push(job);
    const records = sealAll(job, createRecordSigner());
    return new Promise((resolve) => {
      this.#waiting.push({ deliver, resolve, records });
    });
  }

  async release(): Promise<void> {
    const waiting = this.#waiting.shift();
    waiting?.resolve(waiting.records);
    await nextTurn();
  }

  /** One record of the job that is sealed now. */
  deliver(): void {
    const [waiting] = this.#waiting;
    if (waiting === undefined) return;
    const { deliver, records } = waiting;
    waiting.records = records.slice(1);
    deliver(records.slice(0, 1));
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

function previousOf({ jws }: { readonly jws: string }): unknown {
  return readJws(jws).payload["previous_audit_id"];
}

// AGTP-IDENTIFIERS "Attribution Chain"
describe("Ledger", () => {
  it("writes what was added in one turn of the loop together", async () => {
    const { journal, ledger } = openLedger();
    for (const agent of [ALICE, BOB, ALICE, ALICE]) ledger.add(makeDraft(agent));
    expect(journal.batches).toEqual([]);
    await ledger.settled();
    ledger.add(makeDraft(BOB));
    await ledger.settled();
    expect(journal.batches.map(({ length }) => length)).toEqual([4, 1]);
  });

  it("seals a draft before it calls back, and not before it is written", async () => {
    const { journal, ledger } = openLedger();
    const draft = ledger.add(makeDraft(ALICE));
    expect(draft.isKnown).toBe(false);
    await new Promise<void>((resolve) => {
      ledger.whenSettled(() => {
        expect(journal.records).toEqual([{ auditId: draft.auditId, jws: draft.jws }]);
        expect(draft.isKnown).toBe(true);
        resolve();
      });
      expect(draft.isKnown).toBe(false);
    });
  });

  it("calls back at once when nothing is pending", () => {
    const settled = vi.fn();
    openLedger().ledger.whenSettled(settled);
    expect(settled).toHaveBeenCalledWith(undefined);
  });

  it("keeps each agent's records as a chain of its own", async () => {
    const { journal, ledger } = openLedger();
    for (let turn = 0; turn < 5; turn += 1) {
      for (const agent of [ALICE, BOB, ALICE]) ledger.add(makeDraft(agent));
      await ledger.settled();
    }
    const records = journal.records.map(({ jws }) => readJws(jws));
    expect(walkChain(records, ALICE)).toHaveLength(10);
    expect(walkChain(records, BOB)).toHaveLength(5);
    expect(ledger.headOf(ALICE)?.auditId).toBe(walkChain(records, ALICE).at(-1)?.auditId);
  });

  it("goes on where a chain ended before", async () => {
    const head: ChainHead = { auditId: "f".repeat(64), at: 0, method: "QUERY" };
    const { journal, ledger } = openLedger(new Map([[ALICE, head]]));
    ledger.add(makeDraft(ALICE));
    ledger.add(makeDraft(BOB));
    await ledger.settled();
    expect(journal.records.map(previousOf)).toEqual([head.auditId, NO_AUDIT_ID]);
  });

  it("seals what is in no chain, and keeps nothing of it", async () => {
    const { journal, ledger } = openLedger();
    const draft = ledger.add(makeDraft(undefined));
    await ledger.settled();
    expect(previousOf(draft)).toBe(NO_AUDIT_ID);
    expect(journal.batches).toEqual([]);
    expect(ledger.headOf("")).toBeUndefined();
    expect(ledger.heads.takeChanged().size).toBe(0);
  });

  it("tells once which chains have grown", async () => {
    const { ledger } = openLedger();
    ledger.add(makeDraft(ALICE));
    expect(ledger.heads.takeChanged().size).toBe(0);
    await ledger.settled();
    expect([...ledger.heads.takeChanged()]).toEqual([[ALICE, ledger.headOf(ALICE)]]);
    expect(ledger.heads.takeChanged().size).toBe(0);
    ledger.heads.mark([ALICE, BOB]);
    expect([...ledger.heads.takeChanged().keys()]).toEqual([ALICE]);
  });

  it("gives heads that a store has together one behind the other", () => {
    const heads = new ChainHeads(new Map());
    const agentIds = Array.from({ length: 2_000 }, (_, at) => sha256(`agent ${at}`));
    const head = { auditId: NO_AUDIT_ID, at: 1, method: "BOOK", place: undefined };
    for (const agentId of agentIds) heads.move(agentId, head);
    const changed = [...heads.takeChanged().keys()];
    const beginnings = changed.map((agentId) => agentId.slice(0, 2));
    expect(beginnings).toEqual(beginnings.toSorted());
    expect(changed.toSorted()).toEqual(agentIds.toSorted());
  });

  it("finds what was written", async () => {
    const { ledger } = openLedger();
    const { auditId, jws } = await settle(ledger, ALICE);
    expect(await ledger.find(auditId)).toBe(jws);
    expect(await ledger.find("0".repeat(64))).toBeUndefined();
  });

  it("writes what is pending before it closes the journal", async () => {
    const { journal, ledger } = openLedger();
    ledger.add(makeDraft(ALICE));
    await ledger.close();
    expect(journal.records).toHaveLength(1);
    expect(journal.isClosed).toBe(true);
  });
});

async function settle(ledger: Ledger, agent: string) {
  const draft = ledger.add(makeDraft(agent));
  await ledger.settled();
  return draft;
}

describe("Ledger with a sealer that takes its time", () => {
  it("seals one group after another, so that the next one knows where its chains end", async () => {
    const { journal, ledger } = openLedger();
    const sealer = new SlowSealer();
    const drafts = [ledger.add(makeDraft(ALICE, { sealer }))];
    await nextTurn();
    for (let more = 0; more < 3; more += 1) {
      drafts.push(ledger.add(makeDraft(ALICE, { sealer })));
      await nextTurn();
    }
    expect(sealer.jobs).toHaveLength(1);
    await sealer.release();
    expect(sealer.jobs.map(({ payloads }) => payloads.length)).toEqual([1, 3]);
    expect(drafts.map(({ isKnown }) => isKnown)).toEqual([true, false, false, false]);
    await sealer.release();
    expect(drafts.map(({ isKnown }) => isKnown)).toEqual([true, true, true, true]);
    const records = journal.records.map(({ jws }) => readJws(jws));
    expect(walkChain(records, ALICE).map(({ auditId }) => auditId)).toEqual(
      drafts.map(({ auditId }) => auditId),
    );
  });

  it("calls back when the group of a draft is written, and waits for no later one", async () => {
    const { ledger } = openLedger();
    const sealer = new SlowSealer();
    const order: string[] = [];
    ledger.add(makeDraft(ALICE, { sealer }));
    ledger.whenSettled(() => order.push("first"));
    await nextTurn();
    ledger.add(makeDraft(BOB, { sealer }));
    ledger.whenSettled(() => order.push("second"));
    await sealer.release();
    expect(order).toEqual(["first"]);
    await sealer.release();
    expect(order).toEqual(["first", "second"]);
  });

  it("keeps a chain whole over a change of sealers", async () => {
    const { journal, ledger } = openLedger();
    const sealer = new SlowSealer();
    ledger.add(makeDraft(ALICE, { sealer }));
    ledger.add(makeDraft(ALICE));
    ledger.add(makeDraft(ALICE, { sealer }));
    const settled = ledger.settled();
    await nextTurn();
    await sealer.release();
    await nextTurn();
    await sealer.release();
    await settled;
    const records = journal.records.map(({ jws }) => readJws(jws));
    expect(walkChain(records, ALICE)).toHaveLength(3);
  });

  it("keeps what is delivered of a group, and tells those who wait for no more", async () => {
    const { journal, ledger } = openLedger();
    const sealer = new SlowSealer();
    const order: string[] = [];
    const drafts = [ALICE, undefined, ALICE].map((agent, index) => {
      const draft = ledger.add(makeDraft(agent, { sealer }));
      ledger.whenSettled(() => order.push(String(index)));
      return draft;
    });
    await nextTurn();
    for (let delivered = 1; delivered <= 2; delivered += 1) {
      sealer.deliver();
      expect(order).toHaveLength(delivered);
      expect(drafts.filter(({ isKnown }) => isKnown)).toHaveLength(delivered);
    }
    expect(ledger.headOf(ALICE)?.auditId).toBe(drafts[0]?.auditId);
    await sealer.release();
    expect(order).toEqual(["0", "1", "2"]);
    expect(
      walkChain(
        journal.records.map(({ jws }) => readJws(jws)),
        ALICE,
      ),
    ).toHaveLength(2);
  });

  it("keeps nothing of a group after what could not be written", async () => {
    const { journal, ledger } = openLedger();
    const sealer = new SlowSealer();
    const agents = [ALICE, ALICE, ALICE, undefined, BOB];
    const drafts = agents.map((agent) => ledger.add(makeDraft(agent, { sealer })));
    await nextTurn();
    sealer.deliver();
    journal.fault = new Error("no space left on device");
    sealer.deliver();
    journal.fault = undefined;
    sealer.deliver();
    await sealer.release();
    // The third follows the second, which is lost; what is in no chain follows none.
    expect(drafts.map(({ isKnown }) => isKnown)).toEqual([true, false, false, true, false]);
    expect(journal.records).toHaveLength(1);
    const next = await settle(ledger, ALICE);
    expect(previousOf(next)).toBe(drafts[0]?.auditId);
  });

  it("fails a group of which the sealer owes a record", async () => {
    const { ledger } = openLedger();
    const seal = (): readonly JournalRecord[] => [];
    const sealer = { seal, close: () => Promise.resolve() };
    const draft = ledger.add(makeDraft(ALICE, { sealer }));
    await expect(ledger.settled()).rejects.toThrow("a record was not sealed");
    expect(draft.isKnown).toBe(false);
  });

  it("closes when everything is written", async () => {
    const { journal, ledger } = openLedger();
    const sealer = new SlowSealer();
    ledger.add(makeDraft(ALICE, { sealer }));
    await nextTurn();
    ledger.add(makeDraft(ALICE, { sealer }));
    const closed = ledger.close();
    await sealer.release();
    expect(journal.isClosed).toBe(false);
    await sealer.release();
    await closed;
    expect(journal.records).toHaveLength(2);
  });
});

describe("Ledger over a journal that cannot be written", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
  afterEach(() => void vi.useRealTimers());

  const full = Object.assign(new Error("no space left on device"), { code: "ENOSPC" });

  it("leaves the heads where they were, so that no chain names what is lost", async () => {
    const { journal, failures, ledger } = openLedger();
    const kept = await settle(ledger, ALICE);
    journal.fault = full;
    const lost = [ledger.add(makeDraft(ALICE)), ledger.add(makeDraft(BOB))];
    await expect(ledger.settled()).rejects.toBe(full);
    expect(failures).toEqual([full]);
    expect(lost.map(({ isKnown }) => isKnown)).toEqual([false, false]);
    expect(ledger.headOf(ALICE)?.auditId).toBe(kept.auditId);
    expect(ledger.headOf(BOB)).toBeUndefined();
    journal.fault = undefined;
    expect(previousOf(await settle(ledger, ALICE))).toBe(kept.auditId);
    expect(previousOf(await settle(ledger, BOB))).toBe(NO_AUDIT_ID);
  });

  it("seals what needs no journal all the same", async () => {
    const { journal, ledger } = openLedger();
    journal.fault = full;
    const drafts = [undefined, ALICE, undefined].map((agent) => ledger.add(makeDraft(agent)));
    await ledger.settled().catch(() => undefined);
    expect(drafts.map(({ isKnown }) => isKnown)).toEqual([true, false, true]);
  });

  it("says that nothing should be begun until the journal can be written, within a second", async () => {
    const { journal, ledger } = openLedger();
    expect(ledger.isWritable).toBe(true);
    journal.fault = full;
    await settle(ledger, ALICE).catch(() => undefined);
    expect(ledger.isWritable).toBe(false);
    for (let second = 0; second < 3; second += 1) {
      vi.advanceTimersByTime(1000);
      expect(ledger.isWritable).toBe(false);
    }
    journal.fault = undefined;
    vi.advanceTimersByTime(1000);
    expect(ledger.isWritable).toBe(true);
    await settle(ledger, ALICE);
    expect(ledger.isWritable).toBe(true);
  });

  it("does not take a record that is kept nowhere for a journal that works", async () => {
    const { journal, ledger } = openLedger();
    journal.fault = full;
    await settle(ledger, ALICE).catch(() => undefined);
    ledger.add(makeDraft(undefined));
    await ledger.settled();
    expect(ledger.isWritable).toBe(false);
  });

  it.each<[string, () => Promise<never>]>([
    [
      "throws",
      () => {
        throw full;
      },
    ],
    ["rejects", () => Promise.reject(full)],
  ])("tells of a sealer that %s, and goes on with the next", async (_, seal) => {
    const { ledger } = openLedger();
    const sealer = { seal, close: () => Promise.resolve() };
    const lost = ledger.add(makeDraft(ALICE, { sealer }));
    await expect(ledger.settled()).rejects.toBe(full);
    expect(lost.isKnown).toBe(false);
    expect(previousOf(await settle(ledger, ALICE))).toBe(NO_AUDIT_ID);
  });
});
