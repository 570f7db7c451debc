import { appendFileSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, vi } from "vitest";
import type { StateNotice } from "../../../src/state/notice.ts";
import { openLedger } from "../../../src/state/records/open-ledger.ts";
import { UnknownOutcomeError } from "../../../src/state/records/record-store.ts";
import type { Change, Store } from "../../../src/state/store.ts";
import { makeDirectory } from "../../support/directory.ts";
import { makeDraft } from "../../support/ledger.ts";
import { PATIENCE } from "../../support/patience.ts";
import { readJournal, walkChain } from "../../support/records.ts";
import { SharedRecords } from "../../support/shared-records.ts";
import { makeFacts, makeLastingStore, openTestState, type TestState } from "../../support/state.ts";
import { alterStore, openTestStore } from "../../support/store.ts";

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);

async function addRecords(state: TestState, ...agents: readonly string[]): Promise<void> {
  for (const agent of agents) state.attributor.chained(makeFacts(agent));
  await state.ledger.settled();
}

function chainIn(directory: string, agent: string): readonly string[] {
  return walkChain(readJournal(join(directory, "journal")), agent).map(({ auditId }) => auditId);
}

// AGTP-IDENTIFIERS "Attribution Chain"
describe("openState", () => {
  it("continues every chain after a restart", async () => {
    const [directory, store] = [makeDirectory(), makeLastingStore()];
    for (let start = 1; start <= 3; start += 1) {
      const state = await openTestState(directory, store);
      expect(state.ledger.headOf(ALICE)?.auditId).toBe(chainIn(directory, ALICE).at(-1));
      await addRecords(state, ALICE, BOB, ALICE);
      await state.close();
    }
    expect(chainIn(directory, ALICE)).toHaveLength(6);
    expect(chainIn(directory, BOB)).toHaveLength(3);
  });

  it("continues every chain after a crash, whatever was checkpointed", async () => {
    const [directory, store] = [makeDirectory(), makeLastingStore()];
    for (let start = 1; start <= 4; start += 1) {
      const state = await openTestState(directory, store);
      await addRecords(state, ALICE, BOB);
      await addRecords(state, ALICE);
      if (start % 2 === 0) await state.close();
    }
    expect(chainIn(directory, ALICE)).toHaveLength(8);
    expect(chainIn(directory, BOB)).toHaveLength(4);
  });

  it("forgets what a crash left of a last line", async () => {
    const [directory, store] = [makeDirectory(), makeLastingStore()];
    await addRecords(await openTestState(directory, store), ALICE);
    appendFileSync(join(directory, "journal/00000001.jws"), "eyJhbGciOiJub25lIn0.eyJ");
    const state = await openTestState(directory, store);
    await addRecords(state, ALICE);
    expect(chainIn(directory, ALICE)).toHaveLength(2);
    await state.close();
  });

  it("makes the heads from the journal alone when the store was deleted", async () => {
    const directory = makeDirectory();
    const first = await openTestState(directory, makeLastingStore());
    await addRecords(first, ALICE, BOB, ALICE);
    await first.close();
    const state = await openTestState(directory, makeLastingStore());
    await addRecords(state, ALICE, BOB);
    expect(chainIn(directory, ALICE)).toHaveLength(3);
    expect(chainIn(directory, BOB)).toHaveLength(2);
    await state.close();
  });

  it("does not read the journal again that was read before", async () => {
    const [directory, store] = [makeDirectory(), makeLastingStore()];
    const first = await openSmall(directory, store);
    for (const agent of [ALICE, BOB, ALICE, BOB, ALICE]) {
      first.ledger.add(makeDraft(agent));
      await first.ledger.settled();
    }
    await first.close();
    const heads = [ALICE, BOB].map((agent) => first.ledger.headOf(agent));
    // Retention takes the oldest segments away.
    rmSync(join(directory, "journal/00000001.jws"));
    const { ledger } = await openSmall(directory, store);
    expect([ALICE, BOB].map((agent) => ledger.headOf(agent))).toEqual(heads);
  });

  it("keeps heads and journal in the store that is shipped", async () => {
    const directory = makeDirectory();
    const path = join(directory, "state.db");
    for (let start = 1; start <= 2; start += 1) {
      const state = await openTestState(directory, await openTestStore("sqlite", path));
      await addRecords(state, ALICE);
      await state.close();
    }
    expect(chainIn(directory, ALICE)).toHaveLength(2);
  });

  it("keeps nothing of what is in no chain", async () => {
    const [directory, store] = [makeDirectory(), makeLastingStore()];
    const state = await openTestState(directory, store);
    for (let more = 0; more < 100; more += 1) {
      state.attributor.unchained(makeFacts(String(more).padStart(64, "0")));
    }
    await state.ledger.settled();
    await state.close();
    expect(readJournal(join(directory, "journal"))).toEqual([]);
    expect(await store.list("chain-heads")).toEqual([]);
  });
});

async function openSmall(directory: string, store: Store) {
  const faults: unknown[] = [];
  const opened = await openLedger({
    ...{ store, journalDirectory: join(directory, "journal"), segmentBytes: 500 },
    onFault: (error) => faults.push(error),
  });
  return { ...opened, faults };
}

describe("openLedger over segments that fill", () => {
  it("checkpoints when a segment is finished, so that a start reads little", async () => {
    const [directory, store] = [makeDirectory(), makeLastingStore()];
    const { ledger, faults } = await openSmall(directory, store);
    for (let more = 0; more < 20; more += 1) {
      ledger.add(makeDraft(more % 2 === 0 ? ALICE : BOB));
      await ledger.settled();
    }
    const segments = readdirSync(join(directory, "journal")).filter((name) => /jws$/.test(name));
    expect(segments.length).toBeGreaterThan(5);
    await vi.waitFor(async () => {
      const checkpoint = await store.get("chain-checkpoints", "journal");
      expect(checkpoint).toMatchObject({ segment: segments.length });
    }, PATIENCE);
    expect(faults).toEqual([]);
    const next = await openSmall(directory, store);
    expect(next.ledger.headOf(ALICE)).toEqual(ledger.headOf(ALICE));
    expect(next.ledger.headOf(BOB)).toEqual(ledger.headOf(BOB));
  });

  // A checkpoint that fails must not make a later one skip what it would have stored.
  it("loses no head over a checkpoint that could not be stored", async () => {
    const [directory, store] = [makeDirectory(), makeLastingStore()];
    const { ledger, checkpoint } = await openSmall(directory, store);
    ledger.add(makeDraft(ALICE));
    await ledger.settled();
    store.fault = new Error("the disk is full");
    await expect(checkpoint()).rejects.toThrow("the disk is full");
    store.fault = undefined;
    ledger.add(makeDraft(BOB));
    await ledger.settled();
    await checkpoint();
    const next = await openSmall(directory, store);
    expect(next.ledger.headOf(ALICE)).toEqual(ledger.headOf(ALICE));
    expect(next.ledger.headOf(BOB)).toEqual(ledger.headOf(BOB));
  });

  it("loses no head over a checkpoint that fails while the next one is made", async () => {
    const [directory, store] = [makeDirectory(), makeLastingStore()];
    let fail: ((error: Error) => void) | undefined;
    const failing = alterStore(store, {
      commit: (...asked) => {
        if (fail !== undefined) return store.commit(...asked);
        return new Promise((_, reject) => {
          fail = reject;
        });
      },
    });
    const { ledger, checkpoint } = await openLedger({
      ...{ store: failing, journalDirectory: join(directory, "journal") },
      onFault: () => undefined,
    });
    ledger.add(makeDraft(ALICE));
    await ledger.settled();
    const first = checkpoint();
    await vi.waitFor(() => expect(fail).toBeDefined(), PATIENCE);
    ledger.add(makeDraft(BOB));
    await ledger.settled();
    const second = checkpoint();
    // As long as a checkpoint takes that waits for nobody.
    await ledger.settled();
    await store.list("chain-heads");
    fail?.(new Error("the disk is full"));
    await expect(first).rejects.toThrow("the disk is full");
    await second;
    const next = await openSmall(directory, store);
    expect(next.ledger.headOf(ALICE)).toEqual(ledger.headOf(ALICE));
    expect(next.ledger.headOf(BOB)).toEqual(ledger.headOf(BOB));
  });

  it("stores the heads of many chains in turns, and loses none where it is killed between them", async () => {
    const [directory, store] = [makeDirectory(), makeLastingStore()];
    const commits: (readonly Change[])[] = [];
    const killed = alterStore(store, {
      commit: async (changes, expectations) => {
        if (commits.length === 2) throw new Error("killed");
        commits.push(changes);
        return store.commit(changes, expectations);
      },
    });
    const agents = Array.from({ length: 700 }, (_, index) => String(index).padStart(64, "0"));
    const { ledger, checkpoint } = await openLedger({
      ...{ store: killed, journalDirectory: join(directory, "journal") },
      onFault: () => undefined,
    });
    for (const agent of [...agents, ...agents]) ledger.add(makeDraft(agent));
    await ledger.settled();
    await expect(checkpoint()).rejects.toThrow("killed");
    expect(commits.map(({ length }) => length)).toEqual([256, 256]);
    const next = await openSmall(directory, store);
    for (const agent of agents) {
      expect(next.ledger.headOf(agent)?.auditId).toBe(ledger.headOf(agent)?.auditId);
    }
    await next.checkpoint();
    const last = await openSmall(directory, store);
    expect(last.ledger.headOf(agents[699] ?? "")).toEqual(next.ledger.headOf(agents[699] ?? ""));
  });

  // The process may end between the checkpoint and what is made of the event.
  it("tells of an event again that was written while a checkpoint was prepared", async () => {
    const [directory, store] = [makeDirectory(), makeLastingStore()];
    const journalDirectory = join(directory, "journal");
    const onFault = (error: unknown): never => {
      throw error;
    };
    const { ledger, checkpoint } = await openLedger({
      ...{ store, journalDirectory, onFault },
      beforeCheckpoint: async () => {
        ledger.add(makeDraft(ALICE, { eventType: "agent_revoked" }));
        await ledger.settled();
      },
    });
    await checkpoint();
    const next = await openLedger({ store, journalDirectory, onFault });
    expect(next.events.map(({ auditId }) => auditId)).toEqual([ledger.headOf(ALICE)?.auditId]);
    expect(next.ledger.headOf(ALICE)).toEqual(ledger.headOf(ALICE));
  });

  it("closes the journal even where the last checkpoint cannot be stored", async () => {
    const [directory, store] = [makeDirectory(), makeLastingStore()];
    const { ledger, close } = await openSmall(directory, store);
    ledger.add(makeDraft(ALICE));
    store.fault = new Error("the disk is full");
    await expect(close()).rejects.toThrow("the disk is full");
    store.fault = undefined;
    expect((await openSmall(directory, store)).ledger.headOf(ALICE)).toEqual(ledger.headOf(ALICE));
  });

  it("keeps everything in memory without a directory", async () => {
    const store = makeLastingStore();
    const { ledger, close } = await openLedger({
      store,
      journalDirectory: undefined,
      onFault: (error) => {
        throw error;
      },
    });
    const draft = ledger.add(makeDraft(ALICE));
    await ledger.settled();
    expect(await ledger.find(draft.auditId)).toBe(draft.jws);
    await close();
    expect(await store.list("chain-heads")).toEqual([]);
  });
});

describe("openLedger over records that several nodes share", () => {
  it("tells the operator of an outcome that nobody knows in a line with its records, and of no fault", async () => {
    const records = new SharedRecords();
    const faults: unknown[] = [];
    const notices: StateNotice[] = [];
    const { ledger, close } = await openLedger({
      ...{ store: makeLastingStore(), journalDirectory: undefined },
      shared: { records: records.open(), heads: new Map(), events: [] },
      onFault: (error) => void faults.push(error),
      onNotice: (notice) => void notices.push(notice),
    });
    records.fault = new UnknownOutcomeError(new Error("the link was cut"), ["a1", "b2"]);
    ledger.add(makeDraft(ALICE));
    await expect(ledger.settled()).rejects.toBe(records.fault);
    records.fault = new Error("a mistake");
    ledger.add(makeDraft(ALICE));
    await expect(ledger.settled()).rejects.toBe(records.fault);
    expect(notices).toEqual([
      {
        ...{ level: "warn", event: "record-outcome-unknown" },
        message: expect.stringMatching(/503 outcome-unknown: the link was cut$/),
        fields: { records: 2, audit_ids: "a1 b2" },
      },
    ]);
    expect(faults).toEqual([records.fault]);
    await close();
  });
});
