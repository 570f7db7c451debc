/** Where records went that were cut off, also where the ends of chains cannot be read for a moment. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ArchivedRecords } from "../../../src/state/journal/archived-records.ts";
import { type CutHead, readCutHeads, writeCutHeads } from "../../../src/state/journal/cut-heads.ts";
import { type JournalCut, signAfter } from "../../../src/state/journal/cut-record.ts";
import { createRecordSigner } from "../../../src/state/records/sealer.ts";
import { createDirectory } from "../../support/directory.ts";

const END = "e".repeat(64);
const HEAD: CutHead = {
  ...{ agentId: "a".repeat(64), auditId: END, at: 0, method: "QUERY", sequence: 1 },
};
const GONE = { isArchived: false, segment: undefined, through: "00000001.jws" };

function cutWith(heads: JournalCut["heads"]): JournalCut {
  const segments = [{ file: "00000001.jws", bytes: 1, records: 1, sha256: END }];
  const facts = { serverId: "agents.example", at: 0, segments, heads, isArchived: false };
  return signAfter(undefined, facts, createRecordSigner());
}

describe("the ends of chains at a cut", () => {
  it("are read again where a database did not answer, which is no answer", async () => {
    let isDown = true;
    const archived = new ArchivedRecords(async function* () {
      if (isDown) throw new Error("the connection was lost");
      yield HEAD;
    });
    archived.follow(cutWith({ file: "00000001.heads", sha256: END, chains: 1 }), undefined);
    await expect(archived.find(END)).rejects.toThrow("the connection was lost");
    isDown = false;
    expect(await archived.find(END)).toEqual(GONE);
    expect(await archived.find("f".repeat(64))).toBeUndefined();
  });

  it("are no fault where their file is damaged or gone: who verifies it tells of that", async () => {
    const directory = createDirectory();
    const heads = await writeCutHeads(directory, "00000001.heads", [HEAD]);
    const archived = new ArchivedRecords((cut) => readCutHeads(directory, cut.heads), directory);
    archived.follow(cutWith(heads), undefined);
    rmSync(join(directory, heads.file));
    expect(await archived.find(END)).toBeUndefined();
    writeFileSync(join(directory, heads.file), "nothing\n");
    expect(await archived.find(END)).toBeUndefined();
  });
});
