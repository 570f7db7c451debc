/** `[attribution] durability = "power"`: a record counts once it was synced, and not before. */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import type { StateNotice } from "../../src/state/notice.ts";
import { openLedger } from "../../src/state/records/open-ledger.ts";
import { makeDirectory } from "../support/directory.ts";
import { makeDraft } from "../support/ledger.ts";
import { PATIENCE } from "../support/patience.ts";
import { readJournal, walkChain } from "../support/records.ts";
import { makeLastingStore } from "../support/state.ts";
import { WatchedDisk } from "../support/watched-disk.ts";

const ALICE = "a".repeat(64);
const BOB = "b".repeat(64);

async function openPowerSafe(segmentBytes = 1e6) {
  const directory = makeDirectory();
  const [store, disk] = [makeLastingStore(), new WatchedDisk()];
  const notices: StateNotice[] = [];
  const faults: unknown[] = [];
  const open = () =>
    openLedger({
      ...{ store, disk, segmentBytes, durability: "power" as const },
      journalDirectory: join(directory, "journal"),
      onFault: (error) => void faults.push(error),
      onNotice: (notice) => void notices.push(notice),
    });
  const opened = await open();
  onTestFinished(() => opened.close().catch(() => undefined));
  disk.asked.length = 0;
  return { ...opened, open, directory, disk, notices, faults };
}

/** A promise, and the function that ends it. */
function makeGate(): { readonly gate: Promise<void>; readonly end: () => void } {
  let end: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { gate, end };
}

describe("a record that a power cut cannot lose", () => {
  it("is written, synced and then told of, in this order", async () => {
    const { ledger, disk } = await openPowerSafe();
    ledger.add(makeDraft(ALICE));
    ledger.whenSettled(() => void disk.asked.push("reply"));
    await vi.waitFor(() => expect(disk.asked).toContain("reply"), PATIENCE);
    expect(disk.asked).toEqual(["write", "sync", "synced", "reply"]);
  });

  it("shares one sync with all of its turn, and the next turn waits for that", async () => {
    const { ledger, disk } = await openPowerSafe();
    const { gate, end } = makeGate();
    disk.gate = gate;
    for (let more = 0; more < 10; more += 1) ledger.add(makeDraft(more % 2 === 0 ? ALICE : BOB));
    const first = ledger.settled();
    await vi.waitFor(() => expect(disk.asked).toEqual(["write", "sync"]), PATIENCE);
    for (let more = 0; more < 10; more += 1) ledger.add(makeDraft(ALICE));
    const second = ledger.settled();
    for (let turn = 0; turn < 5; turn += 1) await nextTurn();
    expect(disk.asked).toEqual(["write", "sync"]);
    end();
    await Promise.all([first, second]);
    expect(disk.asked).toEqual(["write", "sync", "synced", "write", "sync", "synced"]);
  });

  it("stands in a segment whose name is synced before it", async () => {
    const { ledger, disk } = await openPowerSafe(200);
    for (const expected of ["directory journal", "directory journal"]) {
      ledger.add(makeDraft(ALICE));
      await ledger.settled();
      disk.asked.length = 0;
      ledger.add(makeDraft(ALICE));
      await ledger.settled();
      expect(disk.asked.indexOf(expected)).toBeGreaterThan(-1);
      expect(disk.asked.indexOf(expected)).toBeLessThan(disk.asked.indexOf("sync"));
    }
  });

  it("is in its chain at the next start, wherever a process was killed", async () => {
    const { ledger, open, checkpoint, disk } = await openPowerSafe(400);
    const ids: string[] = [];
    for (let more = 0; more < 20; more += 1) {
      const draft = ledger.add(makeDraft(ALICE));
      const settled = ledger.settled();
      // A checkpoint may be made while a record is being synced.
      if (more % 3 === 0) await checkpoint();
      await settled;
      ids.push(draft.auditId);
    }
    disk.asked.length = 0;
    const next = await open();
    expect(next.ledger.headOf(ALICE)?.auditId).toBe(ids.at(-1));
    expect(await next.ledger.find(ids[0] ?? "")).toBeDefined();
    await next.close();
  });
});

describe("a record that is in no chain", () => {
  it("waits for nobody's sync, and neither does a reply without one", async () => {
    const { ledger, disk } = await openPowerSafe();
    const { gate, end } = makeGate();
    disk.gate = gate;
    const chained = ledger.add(makeDraft(ALICE));
    const all = ledger.settled();
    await vi.waitFor(() => expect(disk.asked).toEqual(["write", "sync"]), PATIENCE);
    const loose = ledger.add(makeDraft(undefined));
    await new Promise<void>((resolve) =>
      ledger.whenSettled(() => resolve(), [{ lateFields: loose }]),
    );
    expect(loose.isKnown).toBe(true);
    await new Promise<void>((resolve) => ledger.whenSettled(() => resolve(), []));
    let isTold = false;
    ledger.whenSettled(() => {
      isTold = true;
    }, [{ lateFields: loose }, { lateFields: chained }]);
    expect([isTold, chained.isKnown]).toEqual([false, false]);
    end();
    await all;
    expect([isTold, chained.isKnown]).toEqual([true, true]);
    expect(disk.asked).toEqual(["write", "sync", "synced"]);
  });
});

describe("a sync that fails", () => {
  it("is final for its file: the records go to the next segment, and are told of from there", async () => {
    const { ledger, disk, directory, notices, faults } = await openPowerSafe();
    ledger.add(makeDraft(ALICE));
    await ledger.settled();
    disk.failures = 1;
    const draft = ledger.add(makeDraft(ALICE));
    await ledger.settled();
    expect(disk.failed).toHaveLength(1);
    expect(disk.failed).not.toContain(disk.lastSynced);
    ledger.add(makeDraft(ALICE));
    await ledger.settled();
    const journal = join(directory, "journal");
    const chain = walkChain(readJournal(journal), ALICE);
    expect(chain).toHaveLength(3);
    expect(chain[1]?.auditId).toBe(draft.auditId);
    expect(ledger.headOf(ALICE)?.place?.segment).toBe(2);
    expect(await ledger.find(draft.auditId)).toBe(draft.jws);
    expect(notices).toMatchObject([{ event: "journal-sync-failed", level: "error" }]);
    expect(faults).toEqual([]);
    expect(readdirSync(journal).filter((name) => name.endsWith(".jws"))).toHaveLength(2);
  });

  it("twice is told to those who wait, and is over by itself once the disk takes something", async () => {
    const { ledger, disk, directory, open } = await openPowerSafe();
    ledger.add(makeDraft(BOB));
    await ledger.settled();
    disk.failures = 4;
    const lost = ledger.add(makeDraft(ALICE));
    const loose = ledger.add(makeDraft(undefined));
    await expect(ledger.settled()).rejects.toThrow("input/output error");
    expect(lost.isKnown).toBe(false);
    expect(loose.isKnown).toBe(true);
    expect(ledger.isWritable).toBe(false);
    await vi.waitFor(() => expect(ledger.isWritable).toBe(true), PATIENCE);
    // Never the same file twice.
    expect(new Set(disk.failed).size).toBe(4);
    const draft = ledger.add(makeDraft(ALICE));
    await ledger.settled();
    const records = readJournal(join(directory, "journal"));
    expect(walkChain(records, ALICE).map(({ auditId }) => auditId)).toEqual([draft.auditId]);
    expect(walkChain(records, BOB)).toHaveLength(1);
    const next = await open();
    expect(next.ledger.headOf(ALICE)?.auditId).toBe(draft.auditId);
    await next.close();
  });

  it("leaves no empty segments behind, however long the disk fails", async () => {
    const { ledger, disk, directory } = await openPowerSafe();
    disk.failures = 6;
    ledger.add(makeDraft(ALICE));
    await expect(ledger.settled()).rejects.toThrow();
    await vi.waitFor(() => expect(ledger.isWritable).toBe(true), PATIENCE);
    expect(readdirSync(join(directory, "journal")).filter((name) => name.endsWith(".jws"))).toEqual(
      ["00000001.jws"],
    );
  });
});
