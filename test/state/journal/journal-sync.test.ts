import { mkdirSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { FileJournal } from "../../../src/state/journal/file-journal.ts";
import type { JournalRecord } from "../../../src/state/journal/journal.ts";
import { DISK, type JournalDisk } from "../../../src/state/journal/journal-disk.ts";
import type { StateNotice } from "../../../src/state/notice.ts";
import { makeDirectory } from "../../support/directory.ts";
import { sha256 } from "../../support/records.ts";

let count = 0;

function makeRecord(): JournalRecord {
  count += 1;
  const jws = `e30.${Buffer.from(`{"agent_id":"a","n":${count},"filling":"${"x".repeat(60)}"}`).toString("base64url")}.`;
  return { auditId: sha256(jws), jws };
}

/** The disk, and what it was asked for; while it has a fault, nothing is synced. */
class WatchedDisk implements JournalDisk {
  readonly asked: string[] = [];
  fault: Error | undefined;

  write(file: number, octets: Uint8Array): number {
    this.asked.push("write");
    return DISK.write(file, octets);
  }

  async sync(file: number): Promise<void> {
    this.asked.push("sync");
    if (this.fault !== undefined) throw this.fault;
    await DISK.sync(file);
  }

  async syncDirectory(path: string): Promise<void> {
    this.asked.push(`directory ${basename(path)}`);
    await DISK.syncDirectory(path);
  }
}

async function openWatched(segmentBytes = 1e6) {
  const [directory, disk] = [`${makeDirectory()}/journal`, new WatchedDisk()];
  const notices: StateNotice[] = [];
  const faults: unknown[] = [];
  const journal = await FileJournal.open({
    ...{ directory, segmentBytes, disk },
    onFault: (error) => void faults.push(error),
    onNotice: (notice) => void notices.push(notice),
  });
  await journal.sync();
  disk.asked.length = 0;
  return { directory, disk, journal, notices, faults };
}

function gate(): { readonly passed: Promise<void>; open(): void } {
  let open = (): void => undefined;
  const passed = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { passed, open: () => open() };
}

describe("what a journal has written", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  it("is synced within a second, once for all of it, and not by who writes", async () => {
    const { disk, journal } = await openWatched();
    for (let more = 0; more < 100; more += 1) journal.write([makeRecord()]);
    expect(disk.asked).not.toContain("sync");
    await vi.advanceTimersByTimeAsync(999);
    expect(disk.asked.filter((one) => one !== "write")).toEqual(["sync"]);
    await journal.close();
  });

  it("is synced again when more has come, and not when nothing has", async () => {
    const { disk, journal } = await openWatched();
    for (const expected of [1, 2]) {
      journal.write([makeRecord()]);
      await vi.advanceTimersByTimeAsync(999);
      await journal.sync();
      await vi.advanceTimersByTimeAsync(60_000);
      await journal.sync();
      expect(disk.asked.filter((one) => one === "sync")).toHaveLength(expected);
    }
    await journal.close();
  });

  it("is synced when the journal is closed", async () => {
    const { disk, journal } = await openWatched();
    journal.write([makeRecord()]);
    await journal.close();
    expect(disk.asked).toEqual(["write", "sync"]);
  });

  it("has its segment's name synced, and the full segment before that one is closed", async () => {
    const { disk, journal } = await openWatched(100);
    journal.write([makeRecord()]);
    await journal.sync();
    expect(disk.asked.filter((one) => one === "sync")).toHaveLength(2);
    expect(disk.asked).toContain("directory journal");
    await journal.close();
  });

  it("is synced no more where its segment was closed behind a sync meanwhile", async () => {
    const { directory, disk, journal, notices, faults } = await openWatched(200);
    const opened = gate();
    journal.write([makeRecord()]);
    journal.write([makeRecord()]);
    await journal.sync();
    const syncDirectory = vi.spyOn(disk, "syncDirectory");
    syncDirectory.mockImplementation(() => opened.passed);
    // The name of the segment that was begun is synced first, and that takes its time.
    while (!readdirSync(directory).includes("00000003.jws")) journal.write([makeRecord()]);
    const syncing = journal.sync();
    while (syncDirectory.mock.calls.length === 0) await new Promise((done) => setImmediate(done));
    while (!readdirSync(directory).includes("00000004.jws")) journal.write([makeRecord()]);
    // Its index is made behind its end.
    while (!readdirSync(directory).includes("00000003.idx")) {
      await new Promise((done) => setImmediate(done));
    }
    disk.asked.length = 0;
    opened.open();
    await syncing;
    expect([disk.asked, notices, faults]).toEqual([[], [], []]);
    await journal.close();
  });

  it("is told of once as long as it cannot be noted", async () => {
    const { directory, journal, faults } = await openWatched();
    const mark = join(directory, "synced.json");
    mkdirSync(mark);
    const writeAll = async (): Promise<void> => {
      for (let more = 0; more < 3; more += 1) {
        journal.write([makeRecord()]);
        await journal.sync();
      }
    };
    await writeAll();
    expect(faults).toMatchObject([{ code: "EISDIR" }]);
    rmdirSync(mark);
    await writeAll();
    rmSync(mark);
    mkdirSync(mark);
    await writeAll();
    expect(faults).toHaveLength(2);
    await journal.close();
  });

  it("goes on in the next segment when it cannot be synced, and says so", async () => {
    const { directory, disk, journal, notices, faults } = await openWatched();
    const records = [makeRecord(), makeRecord()];
    disk.fault = new Error("EIO: i/o error, fdatasync");
    journal.write(records.slice(0, 1));
    await journal.sync();
    expect(notices).toMatchObject([
      { event: "journal-sync-failed", level: "error", fields: { file: "00000001.jws" } },
    ]);
    disk.fault = undefined;
    expect(journal.write(records.slice(1))).toEqual({ segment: 2, offset: 0 });
    await journal.sync();
    expect(notices).toHaveLength(1);
    for (const { auditId, jws } of records) expect(await journal.find(auditId)).toBe(jws);
    const segments = readdirSync(directory).filter((name) => name.endsWith(".jws"));
    expect(segments).toEqual(["00000001.jws", "00000002.jws"]);
    expect(faults).toEqual([]);
    await journal.close();
  });
});
