import {
  appendFileSync,
  closeSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { FileJournal, type FileJournalOptions } from "../../../src/state/journal/file-journal.ts";
import type { JournalRecord } from "../../../src/state/journal/journal.ts";
import { PackedRecords } from "../../../src/state/journal/packed-records.ts";
import { RecordPlaces } from "../../../src/state/journal/record-places.ts";
import { makeDirectory } from "../../support/directory.ts";
import { readJournal, sha256 } from "../../support/records.ts";

let count = 0;

/** A record of 100 octets or more. */
function makeRecord(payload: object = {}): JournalRecord {
  count += 1;
  const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");
  const jws = `${encode({ alg: "none" })}.${encode({ count, filling: "x".repeat(40), ...payload })}.`;
  return { auditId: sha256(jws), jws };
}

/** Records as they come from another process. */
function packedOf(records: readonly JournalRecord[]): PackedRecords {
  const lines = records.map(({ jws }) => `${jws}\n`);
  const ids = Buffer.from(records.map(({ auditId }) => auditId).join(""), "hex");
  let end = 0;
  const ends = lines.map(({ length }) => {
    end += length;
    return end;
  });
  return new PackedRecords(Buffer.from(lines.join("")), ids, ends);
}

function makeRecords(length: number): readonly JournalRecord[] {
  return Array.from({ length }, () => makeRecord());
}

async function openJournal(
  directory: string,
  options: Partial<FileJournalOptions> = {},
): Promise<FileJournal & { readonly faults: unknown[] }> {
  const faults: unknown[] = [];
  const onFault = (error: unknown): void => void faults.push(error);
  const journal = await FileJournal.open({ directory, onFault, segmentBytes: 300, ...options });
  let isOpen = true;
  const close = journal.close.bind(journal);
  onTestFinished(() => (isOpen ? close() : undefined));
  const closeOnce = (): Promise<void> => {
    isOpen = false;
    return close();
  };
  return Object.assign(journal, { faults, close: closeOnce });
}

/** A journal of so many records in segments of three, closed. */
async function makeJournal(length: number) {
  const directory = makeDirectory();
  const records = makeRecords(length);
  const journal = await openJournal(directory);
  for (const record of records) journal.write([record]);
  await journal.close();
  return { directory, records };
}

function namesIn(directory: string, suffix: string): readonly string[] {
  return readdirSync(directory).filter((name) => name.endsWith(suffix));
}

async function idsFrom(journal: FileJournal, segment: number, offset: number) {
  const ids: string[] = [];
  for await (const { auditId } of journal.replay({ segment, offset })) ids.push(auditId);
  return ids;
}

// AGTP-IDENTIFIERS "Audit Log"
describe("FileJournal", () => {
  it("appends records, one a line, in the order they come", async () => {
    const { directory, records } = await makeJournal(2);
    expect(readFileSync(join(directory, "00000001.jws"), "latin1")).toBe(
      records.map(({ jws }) => `${jws}\n`).join(""),
    );
  });

  it("appends records that came as octets, and finds each of them", async () => {
    const directory = makeDirectory();
    const journal = await openJournal(directory);
    const records = makeRecords(5);
    journal.write(records.slice(0, 1));
    const packed = [records.slice(1, 3), records.slice(3)].map(packedOf);
    journal.write([], packed);
    for (const { auditId, jws } of records) expect(await journal.find(auditId)).toBe(jws);
    await journal.close();
    expect(readJournal(directory).map(({ jws }) => jws)).toEqual(records.map(({ jws }) => jws));
  });

  it("knows the places of as many octets as come at once", () => {
    const records = makeRecords(3_000);
    const places = new RecordPlaces();
    places.add([{ auditId: "0".repeat(64), jws: "a.b." }], 0);
    places.addPacked(packedOf(records), 5);
    const [first, last] = [records[0], records.at(-1)];
    const before = records.slice(0, -1).reduce((sum, { jws }) => sum + jws.length + 1, 5);
    expect(places.length).toBe(3_001);
    expect(places.find(first?.auditId ?? "")).toEqual({ offset: 5, length: first?.jws.length });
    expect(places.at(-1)).toEqual({
      ...{ auditId: last?.auditId, offset: before, length: last?.jws.length },
    });
  });

  it("lets nobody else read it", async () => {
    const { directory } = await makeJournal(7);
    for (const name of readdirSync(directory)) {
      expect([name, statSync(join(directory, name)).mode & 0o077]).toEqual([name, 0]);
    }
  });

  it("begins the next segment when one is full, and gives the full one an index", async () => {
    const { directory, records } = await makeJournal(7);
    expect(namesIn(directory, ".jws")).toEqual(["00000001.jws", "00000002.jws", "00000003.jws"]);
    expect(namesIn(directory, ".idx")).toEqual(["00000001.idx", "00000002.idx"]);
    expect(namesIn(directory, ".tmp")).toEqual([]);
    expect(readJournal(directory).map(({ auditId }) => auditId)).toEqual(
      records.map(({ auditId }) => auditId),
    );
  });

  it("keeps records that are written together in one segment", async () => {
    const directory = makeDirectory();
    const journal = await openJournal(directory);
    journal.write(makeRecords(20));
    expect(journal.position).toEqual({ segment: 2, offset: 0 });
  });

  it("describes every finished segment in the manifest", async () => {
    const { directory, records } = await makeJournal(7);
    const { segments } = JSON.parse(readFileSync(join(directory, "segments.json"), "utf8"));
    expect(segments).toEqual(
      [1, 2].map((number) => {
        const own = records.slice(number * 3 - 3, number * 3);
        return {
          file: `0000000${number}.jws`,
          records: 3,
          bytes: statSync(join(directory, `0000000${number}.jws`)).size,
          first_audit_id: own[0]?.auditId,
          last_audit_id: own[2]?.auditId,
        };
      }),
    );
  });

  it.each<[string, (manifest: string) => void]>([
    ["is lost", (manifest) => rmSync(manifest)],
    ["cannot be read", (manifest) => writeFileSync(manifest, "{")],
    [
      "lacks some",
      (manifest) => {
        const { segments } = JSON.parse(readFileSync(manifest, "utf8"));
        writeFileSync(manifest, JSON.stringify({ segments: [segments[1]] }));
      },
    ],
  ])("describes finished segments when it opens, where the manifest %s", async (_, harm) => {
    const { directory } = await makeJournal(10);
    const path = join(directory, "segments.json");
    const before = readFileSync(path, "utf8");
    harm(path);
    await (await openJournal(directory)).close();
    expect(readFileSync(path, "utf8")).toBe(before);
  });

  it("tells when a segment was finished", async () => {
    const onFinished = vi.fn();
    const journal = await openJournal(makeDirectory(), { onFinished });
    for (const record of makeRecords(7)) journal.write([record]);
    expect(onFinished).toHaveBeenCalledTimes(2);
  });
});

describe("FileJournal.find", () => {
  it("finds every record, in whichever segment, while it is being written", async () => {
    const journal = await openJournal(makeDirectory());
    const records = makeRecords(40);
    const found = records.map((record) => {
      journal.write([record]);
      return journal.find(record.auditId);
    });
    expect(await Promise.all(found)).toEqual(records.map(({ jws }) => jws));
    const again = records.map(({ auditId }) => journal.find(auditId));
    expect(await Promise.all(again)).toEqual(records.map(({ jws }) => jws));
    expect(journal.faults).toEqual([]);
  });

  it("finds nothing else", async () => {
    const { directory } = await makeJournal(7);
    const journal = await openJournal(directory);
    for (const id of ["0".repeat(64), "f".repeat(64), makeRecord().auditId]) {
      expect(await journal.find(id)).toBeUndefined();
    }
  });

  it("finds what an earlier process wrote", async () => {
    const { directory, records } = await makeJournal(20);
    const journal = await openJournal(directory);
    for (const { auditId, jws } of records) expect(await journal.find(auditId)).toBe(jws);
  });

  it("finds records in a segment of thousands", async () => {
    const directory = makeDirectory();
    const journal = await openJournal(directory, { segmentBytes: 1 });
    const records = makeRecords(5000);
    journal.write(records);
    await journal.close();
    const reopened = await openJournal(directory);
    for (const index of [0, 1, 1999, 2000, 2500, 4999]) {
      const record = records[index];
      expect(await reopened.find(record?.auditId ?? "")).toBe(record?.jws);
    }
    expect(reopened.faults).toEqual([]);
  });

  it.each<[string, (index: string) => void]>([
    ["is missing", (index) => rmSync(index)],
    ["is empty", (index) => writeFileSync(index, "")],
    ["is cut short", (index) => truncateSync(index, statSync(index).size - 24)],
    ["is cut off in an entry", (index) => truncateSync(index, statSync(index).size - 1)],
    ["has been filled with zeros", (index) => writeFileSync(index, Buffer.alloc(128))],
    ["is of another segment", (index) => copyFileSync(index.replace("1.idx", "2.idx"), index)],
  ])("makes an index anew that %s", async (_, harm) => {
    const directory = makeDirectory();
    const records = makeRecords(8);
    const first = await openJournal(directory);
    // The second segment has more records than the first.
    first.write(records.slice(0, 3));
    first.write(records.slice(3, 8));
    await first.close();
    const index = join(directory, "00000001.idx");
    const before = readFileSync(index);
    harm(index);
    const journal = await openJournal(directory);
    const found = records.map(({ auditId }) => journal.find(auditId));
    expect(await Promise.all(found)).toEqual(records.map(({ jws }) => jws));
    expect(readFileSync(index).equals(before)).toBe(true);
    expect(journal.faults).toEqual([]);
  });

  it("finds records where no index can be written", async () => {
    const { directory, records } = await makeJournal(7);
    rmSync(join(directory, "00000001.idx"));
    // A file cannot take the place of a directory.
    mkdirSync(join(directory, "00000001.idx.tmp"));
    const journal = await openJournal(directory);
    expect(await journal.find(records[0]?.auditId ?? "")).toBe(records[0]?.jws);
    expect(journal.faults).toHaveLength(1);
  });

  it("does not pass an altered record off as what it was", async () => {
    const { directory, records } = await makeJournal(4);
    const file = openSync(join(directory, "00000001.jws"), "r+");
    writeSync(file, "A", 10);
    closeSync(file);
    const journal = await openJournal(directory);
    expect(await journal.find(records[0]?.auditId ?? "")).toBeUndefined();
    expect(await journal.find(records[1]?.auditId ?? "")).toBe(records[1]?.jws);
  });

  it("goes on without a segment that was taken away", async () => {
    const { directory, records } = await makeJournal(7);
    const journal = await openJournal(directory);
    rmSync(join(directory, "00000002.jws"));
    expect(await journal.find(records[0]?.auditId ?? "")).toBe(records[0]?.jws);
    expect(await journal.find(records[4]?.auditId ?? "")).toBeUndefined();
  });
});

describe("FileJournal.open", () => {
  it.each(["x", "eyJhbGciOiJub25lIn0.e30", "x".repeat(70_000)])(
    "cuts off what a crash left of a last line",
    async (torn) => {
      const { directory, records } = await makeJournal(2);
      const path = join(directory, "00000001.jws");
      const { size } = statSync(path);
      appendFileSync(path, torn);
      const journal = await openJournal(directory);
      expect(statSync(path).size).toBe(size);
      const next = makeRecord();
      journal.write([next]);
      expect(readJournal(directory).map(({ auditId }) => auditId)).toEqual(
        [...records, next].map(({ auditId }) => auditId),
      );
    },
  );

  it("begins with an empty segment when nothing of the only line is whole", async () => {
    const directory = makeDirectory({ "00000001.jws": "torn" });
    const journal = await openJournal(directory);
    expect(journal.position).toEqual({ segment: 1, offset: 0 });
  });

  it("appends to the last segment, or finishes it where that was due", async () => {
    const { directory } = await makeJournal(4);
    const journal = await openJournal(directory);
    expect(journal.position.segment).toBe(2);
    const [more, last] = makeRecords(2);
    if (more !== undefined && last !== undefined) journal.write([more, last]);
    expect(journal.position).toEqual({ segment: 3, offset: 0 });
  });

  it("uses no number again that was used before", async () => {
    const { directory, records } = await makeJournal(5);
    const journal = await openJournal(directory, { firstSegment: 9 });
    journal.write(makeRecords(1));
    expect(namesIn(directory, ".jws")).toEqual(["00000001.jws", "00000002.jws", "00000009.jws"]);
    // The last one that there was is a finished one now.
    expect(await journal.find(records[4]?.auditId ?? "")).toBe(records[4]?.jws);
  });

  it("passes over files that are no segments", async () => {
    const directory = makeDirectory({ "0001.jws": "x\n", "notes.txt": "x", "a0000009.jws": "x\n" });
    const journal = await openJournal(directory);
    expect(journal.position).toEqual({ segment: 1, offset: 0 });
  });

  it("refuses a directory that it cannot write to", async () => {
    const directory = makeDirectory({ journal: "a file" });
    await expect(openJournal(join(directory, "journal"))).rejects.toThrow();
    mkdirSync(join(directory, "other/00000001.jws"), { recursive: true });
    await expect(openJournal(join(directory, "other"))).rejects.toThrow("EISDIR");
  });
});

describe("FileJournal.replay", () => {
  it("reads every record from a position on", async () => {
    const { directory, records } = await makeJournal(8);
    const ids = records.map(({ auditId }) => auditId);
    const journal = await openJournal(directory);
    expect(await idsFrom(journal, 1, 0)).toEqual(ids);
    const { length } = records[0]?.jws ?? "";
    expect(await idsFrom(journal, 1, length + 1)).toEqual(ids.slice(1));
    expect(await idsFrom(journal, 3, 0)).toEqual(ids.slice(6));
    const { segment, offset } = journal.position;
    expect(await idsFrom(journal, segment, offset)).toEqual([]);
    expect(await idsFrom(journal, segment, offset + 1000)).toEqual([]);
    expect(await idsFrom(journal, segment + 1, 0)).toEqual([]);
  });

  it("reads lines across the pieces in which a file is read", async () => {
    const directory = makeDirectory();
    const journal = await openJournal(directory, { segmentBytes: 1 << 20 });
    const records = Array.from({ length: 50 }, (_, index) =>
      makeRecord({ long: "y".repeat(index * 300) }),
    );
    journal.write(records);
    expect(await idsFrom(journal, 1, 0)).toEqual(records.map(({ auditId }) => auditId));
  });

  it("tells of a file that has no lines, and refuses one that never ends", async () => {
    const none = "x".repeat(2 << 20);
    const directory = makeDirectory({ "00000001.jws": none, "00000002.jws": "" });
    const journal = await openJournal(directory);
    expect(await idsFrom(journal, 1, 0)).toEqual([sha256(none)]);
    truncateSync(join(directory, "00000001.jws"), 65 << 20);
    await expect(idsFrom(journal, 1, 0)).rejects.toThrow("00000001.jws holds no journal lines");
  });
});

describe("FileJournal on a disk that fails", () => {
  it("keeps what is written when the next segment cannot be begun, and begins it later", async () => {
    const directory = makeDirectory();
    const journal = await openJournal(directory);
    mkdirSync(join(directory, "00000002.jws"));
    const records = makeRecords(5);
    for (const record of records) journal.write([record]);
    expect(journal.faults).toHaveLength(1);
    expect(journal.position.segment).toBe(1);
    rmSync(join(directory, "00000002.jws"), { recursive: true });
    const more = makeRecords(3);
    for (const record of more) journal.write([record]);
    expect(journal.position.segment).toBe(2);
    expect(readJournal(directory).map(({ auditId }) => auditId)).toEqual(
      [...records, ...more].map(({ auditId }) => auditId),
    );
    for (const { auditId, jws } of records) expect(await journal.find(auditId)).toBe(jws);
  });

  it("writes all of a group or nothing", async () => {
    const directory = makeDirectory();
    const journal = await openJournal(directory);
    const [first] = makeRecords(1);
    if (first !== undefined) journal.write([first]);
    const path = join(directory, "00000001.jws");
    renameSync(path, `${path}.away`);
    expect(existsSync(path)).toBe(false);
    await journal.close();
    expect(() => journal.write(makeRecords(2))).toThrow("is closed");
    expect(readFileSync(`${path}.away`, "latin1")).toBe(`${first?.jws}\n`);
  });
});
