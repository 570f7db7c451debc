/**
 * Archives records that were never in a file as journal segments: under its name a segment is there completely, or
 * not at all.   AGTP-IDENTIFIERS "Audit Log"
 */
import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { appendCut, readLastCut } from "./cut-file.ts";
import { type CutHead, removeOldHeads, writeCutHeads } from "./cut-heads.ts";
import type { CutSegment, JournalCut } from "./cut-record.ts";
import { refuseAnother } from "./cut-survey.ts";
import type { JournalRecord } from "./journal.ts";
import { DISK, isThere, writeLines } from "./journal-disk.ts";
import { RecordPlaces } from "./record-places.ts";
import { segmentNumber } from "./segment.ts";
import { writeIndex } from "./segment-index.ts";

/** Writes a segment unless it exists; rejects if the records are not those signed in the cut. */
export async function archiveSegment(
  archive: string,
  { file, sha256 }: Pick<CutSegment, "file" | "sha256">,
  records: () => AsyncIterable<JournalRecord>,
  onStep: (step: "part-written" | "segment-archived") => void,
): Promise<void> {
  const path = join(archive, file);
  if (await isThere(path)) return refuseAnother(path, sha256);
  // Named by process, since another one may still be archiving without knowing that it lost that right.
  const part = `${path}.${process.pid}.part`;
  const places = new RecordPlaces();
  const lines = async function* (): AsyncGenerator<string> {
    let offset = 0;
    for await (const record of records()) {
      offset = places.add([record], offset);
      yield `${record.jws}\n`;
    }
  };
  if ((await writeLines(part, "w", lines())) !== sha256) {
    await rm(part);
    throw new Error(`the records of ${file} are not those that its checkpoint was signed for`);
  }
  onStep("part-written");
  await writeIndex(archive, segmentNumber(file) ?? 0, places);
  await rename(part, path);
  onStep("segment-archived");
}

/**
 * Appends the checkpoints of archived segments to the archive, so that it can be verified on its own; `cutsAfter`
 * returns those after a segment. Everything is on the disk once this resolves.
 */
export async function archiveCuts(
  archive: string,
  last: JournalCut,
  cutsAfter: (through: number) => AsyncIterable<JournalCut>,
  heads: AsyncIterable<CutHead>,
): Promise<void> {
  let before = await readLastCut(archive);
  const isForeign = before !== undefined && before.through >= last.through;
  if (isForeign && before?.cutId !== last.cutId) throw foreign();
  for await (const cut of cutsAfter(before?.through ?? 0)) {
    if (before !== undefined && cut.previous !== before.cutId) throw foreign();
    await appendCut(archive, cut.jws);
    before = cut;
  }
  const { file, sha256 } = await writeCutHeads(archive, last.heads.file, heads);
  if (sha256 !== last.heads.sha256) {
    throw new Error(`${file} is not the file that was signed with the cut`);
  }
  await removeOldHeads(archive, file);
  for (const name of await readdir(archive)) {
    if (/^\d{8}\.jws\.\d+\.part$/.test(name)) await rm(join(archive, name));
  }
  await DISK.syncDirectory(archive);
}

function foreign(): Error {
  return new Error("the archive has checkpoints that these records never had");
}
