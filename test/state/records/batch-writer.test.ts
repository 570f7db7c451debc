/** Several batches under way at once: records signed ahead upon those that are on their way. */

import { setImmediate as nextTurn } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Ledger } from "../../../src/state/records/ledger.ts";
import { NO_AUDIT_ID, type RecordDraft, type Sealer } from "../../../src/state/records/record.ts";
import { createRecordSigner, createSealer } from "../../../src/state/records/sealer.ts";
import { makeDraft } from "../../support/ledger.ts";
import { readJws } from "../../support/records.ts";
import { SharedRecords } from "../../support/shared-records.ts";

const AGENTS = ["a", "b", "c"].map((letter) => letter.repeat(64));
const [ALICE = "", BOB = ""] = AGENTS;

/** Fails unless the records are one path from the first to the last, with time that never decreases. */
function expectOnePath(shared: SharedRecords, agentId: string): void {
  let previous = NO_AUDIT_ID;
  let at = 0;
  for (const { auditId, jws, chain } of shared.recordsOf(agentId)) {
    const { payload } = readJws(jws);
    expect(payload["previous_audit_id"]).toBe(previous);
    expect(payload["issued_at"]).toBe(new Date(chain.at).toISOString());
    expect(chain.at).toBeGreaterThanOrEqual(at);
    previous = auditId;
    at = chain.at;
  }
}

function openLedger(shared: SharedRecords, ...way: Parameters<SharedRecords["open"]>): Ledger {
  return new Ledger(shared.open(...way), new Map(), () => undefined);
}

/** A way on which batches stay until they are let go. */
function makeGate() {
  const waiting: (() => void)[] = [];
  let isOpen = false;
  return {
    /** So many batches are on their way. */
    count: () => waiting.length,
    arrive: () =>
      new Promise<void>((resolve) => {
        if (isOpen) resolve();
        else waiting.push(resolve);
      }),
    /** Lets the batch of a number go, from 0 on. */
    letGo: (number: number) => waiting[number]?.(),
    open: () => {
      isOpen = true;
      for (const resolve of waiting) resolve();
    },
  };
}

/** Adds drafts, batch by batch, each sent before the next is added, as far as the store takes them. */
async function addInTurns(
  ledger: Ledger,
  turns: readonly (readonly string[])[],
): Promise<readonly RecordDraft[]> {
  const drafts: RecordDraft[] = [];
  for (const turn of turns) {
    for (const agent of turn) {
      drafts.push(ledger.add(makeDraft(agent, { at: ledger.timeFor(agent) })));
    }
    await nextTurn();
    await nextTurn();
  }
  return drafts;
}

it("has an event that lost to another of the same millisecond at a later one", async () => {
  const shared = new SharedRecords();
  const ledgers = [openLedger(shared), openLedger(shared)];
  for (const ledger of ledgers) ledger.add(makeDraft(ALICE, { at: 5, eventType: "agent_paused" }));
  await Promise.all(ledgers.map((ledger) => ledger.settled()));
  expect(shared.lost).toBe(1);
  expect(shared.recordsOf(ALICE).map(({ chain }) => chain.at)).toEqual([5, 6]);
  expectOnePath(shared, ALICE);
});

// AGTP-IDENTIFIERS "Attribution Chain"
describe("a ledger over a store that decides in order", () => {
  const ORDERED = { batches: 4, isOrdered: true };

  it("signs the next record of a chain while the one before it is on its way", async () => {
    const shared = new SharedRecords();
    const gate = makeGate();
    const ledger = openLedger(shared, { ...ORDERED, arrive: gate.arrive });
    const drafts = await addInTurns(ledger, [[ALICE], [ALICE, BOB], [ALICE]]);
    expect(shared.records).toEqual([]);
    expect(gate.count()).toBe(3);
    gate.open();
    await ledger.settled();
    expect(shared.lost).toBe(0);
    expect(drafts.every(({ isKnown }) => isKnown)).toBe(true);
    expectOnePath(shared, ALICE);
    expect(shared.recordsOf(ALICE).map(({ auditId }) => auditId)).toEqual(
      [drafts[0], drafts[1], drafts[3]].map((draft) => draft?.auditId),
    );
  });

  it("has no more batches under way than the store takes", async () => {
    const shared = new SharedRecords();
    const gate = makeGate();
    const ledger = openLedger(shared, { ...ORDERED, batches: 2, arrive: gate.arrive });
    await addInTurns(
      ledger,
      Array.from({ length: 6 }, () => [ALICE]),
    );
    expect(gate.count()).toBe(2);
    gate.open();
    await ledger.settled();
    expect(shared.mostUnderWay).toBe(2);
    expect(shared.records).toHaveLength(6);
  });

  it("tells those who wait in order, each once its own drafts are kept", async () => {
    const shared = new SharedRecords();
    const gate = makeGate();
    const ledger = openLedger(shared, { ...ORDERED, arrive: gate.arrive });
    const told: string[] = [];
    for (const name of ["first", "second"]) {
      const [draft] = await addInTurns(ledger, [[ALICE]]);
      ledger.whenSettled(() => {
        expect(draft?.isKnown).toBe(true);
        told.push(name);
      });
    }
    const settled = ledger.settled();
    // The second one arrives sooner, and is decided later all the same.
    gate.letGo(1);
    await nextTurn();
    expect(told).toEqual([]);
    gate.letGo(0);
    await settled;
    expect(told).toEqual(["first", "second"]);
  });

  it("signs all that is under way again, in order, where another has moved its chain", async () => {
    const shared = new SharedRecords();
    const gate = makeGate();
    const ledger = openLedger(shared, { ...ORDERED, arrive: gate.arrive });
    const other = openLedger(shared);
    const drafts = await addInTurns(ledger, [[ALICE], [ALICE, BOB], [ALICE]]);
    await addInTurns(other, [[ALICE, ALICE]]);
    await other.settled();
    gate.open();
    await ledger.settled();
    expect(shared.lost).toBe(3);
    expect(
      shared
        .recordsOf(ALICE)
        .map(({ auditId }) => auditId)
        .slice(2),
    ).toEqual([drafts[0], drafts[1], drafts[3]].map((draft) => draft?.auditId));
    expectOnePath(shared, ALICE);
    expectOnePath(shared, BOB);
  });

  it("signs ahead no more for a while where a chain was lost, and does again after it", async () => {
    const shared = new SharedRecords();
    const gates = [makeGate()];
    const ledger = openLedger(shared, {
      ...ORDERED,
      arrive: () => gates.at(-1)?.arrive() ?? nextTurn(),
    });
    const other = openLedger(shared);
    await addInTurns(other, [[ALICE]]);
    await other.settled();
    gates[0]?.open();
    await addInTurns(ledger, [[ALICE]]);
    await ledger.settled();
    const underWay: number[] = [];
    for (let round = 0; round < 20; round += 1) {
      const gate = makeGate();
      gates.push(gate);
      await addInTurns(ledger, [[ALICE], [ALICE]]);
      underWay.push(gate.count());
      gate.open();
      await ledger.settled();
    }
    expect(underWay[0]).toBe(1);
    expect(underWay.at(-1)).toBe(2);
    expect(underWay).toEqual(underWay.toSorted());
    expectOnePath(shared, ALICE);
  });

  it("takes turns at a chain that another moves as well, and loses it no more", async () => {
    const shared = new SharedRecords();
    const ledgers = [1, 2].map(() => openLedger(shared, { ...ORDERED, takesTurns: true }));
    const drafts: RecordDraft[] = [];
    const lost: number[] = [];
    for (let round = 0; round < 30; round += 1) {
      for (const ledger of ledgers) {
        for (let more = 0; more < 3; more += 1) {
          drafts.push(ledger.add(makeDraft(ALICE, { at: ledger.timeFor(ALICE) })));
        }
      }
      await nextTurn();
      if (round % 3 === 0) await Promise.all(ledgers.map((ledger) => ledger.settled()));
      lost.push(shared.lost);
    }
    await Promise.all(ledgers.map((ledger) => ledger.settled()));
    expect(drafts.every(({ isKnown }) => isKnown)).toBe(true);
    expect(lost[5]).toBeGreaterThan(0);
    expect(shared.lost).toBe(lost[5]);
    expectOnePath(shared, ALICE);
  });

  it("waits for a turn of one that sends nothing only for a while", async () => {
    const shared = new SharedRecords();
    const [still, ledger] = [1, 2].map(() => shared.open({ ...ORDERED, takesTurns: true }));
    await still?.turnAt?.(ALICE, false);
    await addInTurns(openLedger(shared), [[ALICE]]);
    const other = new Ledger(ledger ?? shared.open(), new Map(), () => undefined);
    await addInTurns(other, [[ALICE], [ALICE]]);
    await other.settled();
    expect(shared.recordsOf(ALICE)).toHaveLength(3);
    expectOnePath(shared, ALICE);
  });

  it("keeps what follows a batch that failed, behind the last record that is kept", async () => {
    const shared = new SharedRecords();
    const gate = makeGate();
    const ledger = openLedger(shared, { ...ORDERED, arrive: gate.arrive });
    const [lost] = await addInTurns(ledger, [[ALICE]]);
    const failed = ledger.settled();
    shared.faults.push(new Error("full"));
    const kept = await addInTurns(ledger, [[ALICE], [ALICE, BOB]]);
    gate.open();
    await expect(failed).rejects.toThrow("full");
    await ledger.settled().catch(() => undefined);
    expect(lost?.isKnown).toBe(false);
    expect(kept.every(({ isKnown }) => isKnown)).toBe(true);
    expect(shared.recordsOf(ALICE)).toHaveLength(2);
    expectOnePath(shared, ALICE);
    expect(ledger.isWritable).toBe(true);
  });

  it("signs nothing upon what is kept while records are on their way that follow a lost one", async () => {
    const shared = new SharedRecords();
    const gate = makeGate();
    const ledger = openLedger(shared, { ...ORDERED, arrive: gate.arrive });
    shared.faults.push(new Error("full"));
    const [, second] = await addInTurns(ledger, [[ALICE], [ALICE]]);
    gate.letGo(0);
    await nextTurn();
    const [third] = await addInTurns(ledger, [[ALICE]]);
    expect(gate.count()).toBe(2);
    gate.open();
    await ledger.settled();
    expect(shared.recordsOf(ALICE).map(({ auditId }) => auditId)).toEqual(
      [second, third].map((draft) => draft?.auditId),
    );
    expectOnePath(shared, ALICE);
  });
});

describe("a ledger over a store that decides in any order", () => {
  it("has batches of chains under way that are apart, and one of each chain", async () => {
    const shared = new SharedRecords();
    const gate = makeGate();
    const ledger = openLedger(shared, { batches: 3, arrive: gate.arrive });
    const drafts = await addInTurns(ledger, [[ALICE], [BOB, ALICE], [ALICE]]);
    expect(gate.count()).toBe(2);
    gate.letGo(1);
    await nextTurn();
    gate.open();
    await ledger.settled();
    expect(shared.lost).toBe(0);
    // Bob's did not wait for Alice's.
    expect(shared.records[0]?.chain.agentId).toBe(BOB);
    expect(shared.recordsOf(ALICE).map(({ auditId }) => auditId)).toEqual(
      [drafts[0], drafts[2], drafts[3]].map((draft) => draft?.auditId),
    );
    expectOnePath(shared, ALICE);
  });
});

describe("ledgers with several batches under way", () => {
  const turn = fc.array(fc.record({ writer: fc.nat(2), agent: fc.nat(2) }), { maxLength: 8 });
  const way = fc.record({
    batches: fc.integer({ min: 1, max: 4 }),
    isOrdered: fc.boolean(),
    takesTurns: fc.boolean(),
  });

  it("leave one path a chain, with every record that was kept in it once, whatever fails", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(turn, { maxLength: 10 }),
        fc.tuple(way, way, way),
        fc.infiniteStream(fc.nat(4)),
        fc.array(fc.nat(9), { maxLength: 3 }),
        async (turns, ways, delays, faults) => {
          const shared = new SharedRecords();
          const arrive = async (): Promise<void> => {
            for (let turns: number = delays.next().value ?? 0; turns > 0; turns -= 1)
              await nextTurn();
          };
          const ledgers = ways.map((one) => openLedger(shared, { ...one, arrive }));
          const drafts: RecordDraft[] = [];
          for (const [number, steps] of turns.entries()) {
            if (faults.includes(number)) shared.faults.push(new Error("full"));
            for (const { writer, agent: index } of steps) {
              const agent = AGENTS[index] ?? "";
              const ledger = ledgers[writer];
              if (ledger === undefined) continue;
              drafts.push(ledger.add(makeDraft(agent, { at: ledger.timeFor(agent) })));
            }
            await nextTurn();
          }
          await Promise.all(ledgers.map((ledger) => ledger.settled().catch(() => undefined)));
          const known = drafts.filter(({ isKnown }) => isKnown).map(({ auditId }) => auditId);
          const kept = shared.records.map(({ auditId }) => auditId);
          expect(known.toSorted()).toEqual(kept.toSorted());
          if (faults.length === 0) expect(known).toHaveLength(drafts.length);
          for (const agentId of AGENTS) expectOnePath(shared, agentId);
        },
      ),
      { numRuns: 60 },
    );
  });
});

it("keeps the order of a chain over a change of sealers", async () => {
  const shared = new SharedRecords();
  const ledger = openLedger(shared, { batches: 4, isOrdered: true });
  const slow: Sealer = slowSealer();
  const drafts = [slow, undefined, slow].map((sealer) =>
    ledger.add(makeDraft(ALICE, sealer === undefined ? {} : { sealer })),
  );
  await ledger.settled();
  expect(shared.records.map(({ auditId }) => auditId)).toEqual(
    drafts.map(({ auditId }) => auditId),
  );
  expectOnePath(shared, ALICE);
});

function slowSealer(): Sealer {
  const quick = createSealer(createRecordSigner());
  return {
    seal: async (job, deliver) => {
      await nextTurn();
      return quick.seal(job, deliver);
    },
    close: () => Promise.resolve(),
  };
}
