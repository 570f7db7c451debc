/** Ledgers of several writers over the same chains. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Ledger } from "../../../src/state/records/ledger.ts";
import { NO_AUDIT_ID, type RecordDraft } from "../../../src/state/records/record.ts";
import { makeDraft } from "../../support/ledger.ts";
import { readJws } from "../../support/records.ts";
import { SharedRecords } from "../../support/shared-records.ts";

const AGENTS = ["a", "b", "c"].map((letter) => letter.repeat(64));
const ALICE = AGENTS[0]!;

function openLedgers(shared: SharedRecords, count: number): readonly Ledger[] {
  return Array.from({ length: count }, () => new Ledger(shared.open(), new Map(), () => undefined));
}

/** Fails unless the records are one path from the first to the last, with time that never decreases. */
function expectOnePath(shared: SharedRecords, agentId: string): void {
  let previous = NO_AUDIT_ID;
  let at = 0;
  for (const { auditId, jws, chain } of shared.recordsOf(agentId)) {
    const { payload } = readJws(jws);
    expect(payload["previous_audit_id"]).toBe(previous);
    expect(chain.at).toBeGreaterThanOrEqual(at);
    expect(payload["issued_at"]).toBe(new Date(chain.at).toISOString());
    previous = auditId;
    at = chain.at;
  }
}

// AGTP-IDENTIFIERS "Attribution Chain"
describe("ledgers over the same records", () => {
  it("leave one path a chain, and every record in it once, whoever was sooner", async () => {
    const step = fc.record({ writer: fc.nat(2), agent: fc.nat(2) });
    const turns = fc.array(fc.array(step, { minLength: 1, maxLength: 12 }), { maxLength: 8 });
    await fc.assert(
      fc.asyncProperty(turns, async (all) => {
        const shared = new SharedRecords();
        const ledgers = openLedgers(shared, 3);
        const drafts: RecordDraft[] = [];
        for (const turn of all) {
          for (const { writer, agent } of turn) {
            const at = ledgers[writer]!.timeFor(AGENTS[agent]!);
            drafts.push(ledgers[writer]!.add(makeDraft(AGENTS[agent], { at })));
          }
          await ledgers[turn[0]!.writer]!.settled();
        }
        await Promise.all(ledgers.map((ledger) => ledger.settled()));
        const kept = shared.records.map(({ auditId }) => auditId);
        expect(drafts.map(({ auditId }) => auditId).toSorted()).toEqual(kept.toSorted());
        for (const agentId of AGENTS) expectOnePath(shared, agentId);
      }),
      { numRuns: 40 },
    );
  });

  it("sign again what lost, and keep what did not in the same batch", async () => {
    const shared = new SharedRecords();
    const [one, other] = openLedgers(shared, 2) as [Ledger, Ledger];
    one.add(makeDraft(ALICE));
    await one.settled();
    const bob = other.add(makeDraft(AGENTS[1]));
    const alice = other.add(makeDraft(ALICE, { at: 1 }));
    await other.settled();
    expect(shared.lost).toBe(1);
    expect([bob, alice].every(({ isKnown }) => isKnown)).toBe(true);
    expectOnePath(shared, ALICE);
    expect(one.headOf(ALICE)?.auditId).not.toBe(alice.auditId);
    expect(await one.currentHeadOf(ALICE)).toMatchObject({ auditId: alice.auditId });
  });

  it("tell those whose records were not kept, and go on once they can be", async () => {
    const shared = new SharedRecords();
    const [ledger] = openLedgers(shared, 1) as [Ledger];
    shared.fault = new Error("gone");
    const draft = ledger.add(makeDraft(ALICE));
    await expect(ledger.settled()).rejects.toThrow("gone");
    expect(draft.isKnown).toBe(false);
    expect(ledger.isWritable).toBe(false);
    shared.fault = undefined;
    const next = ledger.add(makeDraft(ALICE));
    await ledger.settled();
    expect(shared.records.map(({ auditId }) => auditId)).toEqual([next.auditId]);
  });
});
