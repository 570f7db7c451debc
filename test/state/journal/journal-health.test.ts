import {
  appendFileSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { FileJournal } from "../../../src/state/journal/file-journal.ts";
import { examineJournal } from "../../../src/state/journal/journal-health.ts";
import { makeDirectory } from "../../support/directory.ts";
import { sha256 } from "../../support/records.ts";

const encode = (part: object): string => Buffer.from(JSON.stringify(part)).toString("base64url");

/** A journal of ten records in segments of two, as a daemon leaves it. */
async function makeJournal(): Promise<string> {
  const directory = makeDirectory();
  const onFault = (error: unknown): void => {
    throw error;
  };
  const journal = await FileJournal.open({ directory, onFault, segmentBytes: 150 });
  for (let count = 0; count < 10; count += 1) {
    const jws = `${encode({ alg: "none" })}.${encode({ count, filling: "x".repeat(40) })}.`;
    journal.write([{ auditId: sha256(jws), jws }]);
  }
  await journal.close();
  return directory;
}

describe("examineJournal", () => {
  it("finds nothing in one that is whole, and reads only", async () => {
    const directory = await makeJournal();
    const before = readdirSync(directory).map((name) => readFileSync(join(directory, name)));
    expect(examineJournal(directory)).toEqual([]);
    expect(readdirSync(directory).map((name) => readFileSync(join(directory, name)))).toEqual(
      before,
    );
    expect(before.length).toBeGreaterThan(5);
  });

  it("finds nothing in one that was never begun", () => {
    expect(examineJournal(join(makeDirectory(), "journal"))).toEqual([]);
    expect(examineJournal(makeDirectory())).toEqual([]);
  });

  it("lets the oldest segments be kept elsewhere", async () => {
    const directory = await makeJournal();
    rmSync(join(directory, "00000001.jws"));
    rmSync(join(directory, "00000002.jws"));
    expect(examineJournal(directory)).toEqual([]);
  });

  it("misses segments in the middle, and at the end", async () => {
    const directory = await makeJournal();
    rmSync(join(directory, "00000002.jws"));
    rmSync(join(directory, "00000003.jws"));
    expect(examineJournal(directory)).toEqual([
      {
        isHarmless: false,
        file: "00000002.jws",
        message: "and those up to 00000003.jws are missing, with every record in between",
      },
    ]);
    const other = await makeJournal();
    for (const name of ["00000004.jws", "00000005.jws", "00000006.jws"]) {
      rmSync(join(other, name), { force: true });
    }
    expect(examineJournal(other).map(({ file }) => file)).toEqual(["00000004.jws"]);
  });

  it("misses all of it when only the manifest is left", async () => {
    const directory = await makeJournal();
    for (const name of readdirSync(directory)) {
      if (name.endsWith(".jws")) rmSync(join(directory, name));
    }
    expect(examineJournal(directory)).toHaveLength(1);
  });

  it("sees that a finished segment was shortened, grew or was altered", async () => {
    const directory = await makeJournal();
    truncateSync(join(directory, "00000001.jws"), 100);
    appendFileSync(join(directory, "00000002.jws"), "x");
    const third = join(directory, "00000003.jws");
    const [first = "", ...rest] = readFileSync(third, "latin1").split("\n");
    const altered = encode({ count: 9, filling: "y".repeat(40) });
    writeFileSync(third, [`${first.split(".")[0]}.${altered}.`, ...rest].join("\n"));
    const faults = examineJournal(directory);
    expect(faults.map(({ file, isHarmless }) => [file, isHarmless])).toEqual([
      ["00000001.jws", false],
      ["00000002.jws", false],
      ["00000003.jws", false],
    ]);
    expect(faults[2]?.message).toContain("was altered");
  });

  it("takes half a record at the very end for what a crash left", async () => {
    const directory = await makeJournal();
    const last = readdirSync(directory).findLast((name) => name.endsWith(".jws")) ?? "";
    appendFileSync(join(directory, last), "eyJhbGciOi");
    expect(examineJournal(directory)).toEqual([
      { isHarmless: true, file: last, message: expect.stringContaining("half a record") },
    ]);
  });

  it("sees that a segment holds something else", async () => {
    const directory = await makeJournal();
    const last = readdirSync(directory).findLast((name) => name.endsWith(".jws")) ?? "";
    writeFileSync(join(directory, last), "hello\n");
    expect(examineJournal(directory)[0]).toMatchObject({ isHarmless: false, file: last });
  });

  it.each(["", "{", "null", '{"segments":[1,{"file":2}]}', '{"segments":{}}'])(
    "does without a manifest such as %j",
    async (text) => {
      const directory = await makeJournal();
      writeFileSync(join(directory, "segments.json"), text);
      expect(examineJournal(directory)).toEqual([]);
    },
  );
});
