/** A cut on a disk that takes a part of what is written: it fails, where nobody would find the rest of it later. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { appendCut, readLastCut } from "../../../src/state/journal/cut-file.ts";
import { type CutHead, writeCutHeads } from "../../../src/state/journal/cut-heads.ts";
import { signAfter } from "../../../src/state/journal/cut-record.ts";
import { segmentName } from "../../../src/state/journal/segment.ts";
import { createRecordSigner } from "../../../src/state/records/sealer.ts";
import { mountSmallDisk, type SmallDisk } from "../../support/small-disk.ts";

const PAGE = 4_096;
const SHA256 = "a".repeat(64);

const probe = mountSmallDisk(1);
probe?.remove();
if (probe === undefined) {
  console.warn("\nNOT RUN, no file system can be mounted here: a full disk under a cut\n");
}

let disk: SmallDisk;
beforeEach(() => {
  if (probe !== undefined) disk = mountSmallDisk(1) ?? disk;
});
afterEach(() => {
  if (probe !== undefined) disk.remove();
});

/** Leaves room for one page. */
function fillButOnePage(): void {
  const page = join(disk.directory, "page");
  writeFileSync(page, Buffer.alloc(PAGE));
  disk.fill();
  rmSync(page);
}

it.skipIf(probe === undefined)("makes no checkpoint of which a part is written", async () => {
  const segments = Array.from({ length: 64 }, (_, index) => {
    return { file: segmentName(index + 1), bytes: 1, records: 1, sha256: SHA256 };
  });
  const heads = { file: "00000064.heads", sha256: SHA256, chains: 0 };
  const facts = { serverId: "agents.example", at: 0, segments, heads, isArchived: false };
  const { jws } = signAfter(undefined, facts, createRecordSigner());
  expect(jws.length).toBeGreaterThan(PAGE);
  fillButOnePage();
  await expect(appendCut(disk.directory, jws)).rejects.toMatchObject({ code: "ENOSPC" });
  expect(await readLastCut(disk.directory)).toBeUndefined();
  disk.clear();
  await appendCut(disk.directory, jws);
  expect(await readLastCut(disk.directory)).toMatchObject({ through: 64 });
});

it.skipIf(probe === undefined)(
  "signs for no ends of chains of which a part is written",
  async () => {
    const chains = Array.from({ length: 40 }, (_, index): CutHead => {
      const agentId = String(index).padStart(64, "0");
      return { agentId, auditId: SHA256, at: 0, method: "QUERY", sequence: 1 };
    });
    fillButOnePage();
    const writing = writeCutHeads(disk.directory, "00000001.heads", chains);
    await expect(writing).rejects.toMatchObject({ code: "ENOSPC" });
  },
);
