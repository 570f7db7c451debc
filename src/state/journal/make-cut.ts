/**
 * Cuts the oldest segments off a journal. A signed checkpoint is on the disk before the first of them
 * moves, so that a process or a machine that stops between any two steps leaves a journal that starts
 * and verifies; what was not moved then is moved later.   AGTP-IDENTIFIERS "Audit Log"
 */

import { constants } from "node:fs";
import { copyFile, open, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { makeDirectory } from "../../base/paths.ts";
import { codeOf } from "../../base/thrown.ts";
import type { RecordSigner } from "../records/sealer.ts";
import { appendCut, readLastCut } from "./cut-file.ts";
import { headsName, readCutHeads, removeOldHeads, writeCutHeads } from "./cut-heads.ts";
import { type JournalCut, signAfter } from "./cut-record.ts";
import {
  digestOf,
  headsAfter,
  journalSegment,
  refuseAnother,
  surveySegments,
} from "./cut-survey.ts";
import { isThere, type JournalDisk } from "./journal-disk.ts";
import { readPlaces } from "./record-places.ts";
import { listSegments, segmentName, segmentNumber } from "./segment.ts";
import { indexName, writeIndex } from "./segment-index.ts";

/** The steps of a cut, each named after it was done. */
export type CutStep =
  | "heads-written"
  | "heads-synced"
  | "cut-written"
  | "cut-synced"
  | "segment-moved"
  | "index-moved"
  | "archive-synced"
  | "journal-synced";

/** A journal that is cut, and where the segments go. */
export interface CutPlace {
  readonly directory: string;
  /** Undefined: they are deleted. */
  readonly archive: string | undefined;
  readonly disk: Pick<JournalDisk, "syncDirectory">;
  /** True once somebody reads the journal: what has not moved then is moved later. */
  readonly isHeld?: (() => boolean) | undefined;
  /** Told of each step that is done. */
  readonly onStep?: ((step: CutStep) => void) | undefined;
}

/** The name in which a cut is made. */
interface CutAuthor {
  readonly signer: Pick<RecordSigner, "sign">;
  readonly serverId: string;
  readonly now: number;
}

/** Writes the checkpoint of a cut of these segments, or of as many as fit; nothing moves yet. */
export async function writeCut(
  place: CutPlace,
  numbers: readonly number[],
  { signer, serverId, now }: CutAuthor,
): Promise<JournalCut> {
  const { directory, archive, disk } = place;
  const before = await readLastCut(directory);
  const survey = await surveySegments(numbers.map((number) => journalSegment(directory, number)));
  const { segments } = survey;
  const through = segmentNumber(segments.at(-1)?.file ?? "") ?? 0;
  const heads = await writeCutHeads(
    directory,
    headsName(through),
    headsAfter(before === undefined ? [] : readCutHeads(directory, before.heads), survey),
  );
  place.onStep?.("heads-written");
  await disk.syncDirectory(directory);
  place.onStep?.("heads-synced");
  const isArchived = archive !== undefined;
  const cut = signAfter(before, { serverId, at: now, segments, heads, isArchived }, signer);
  await appendCut(directory, cut.jws);
  place.onStep?.("cut-written");
  await disk.syncDirectory(directory);
  place.onStep?.("cut-synced");
  return cut;
}

/** Moves or deletes every segment that a cut names, or one before it; answers their numbers. */
export async function moveSegments(place: CutPlace, cut: JournalCut): Promise<readonly number[]> {
  const { directory, archive, disk } = place;
  // An archived cut deletes nothing, also when the archive has left the configuration.
  const isKept = cut.isArchived && archive === undefined;
  const numbers = isKept ? [] : listSegments(directory).filter((one) => one <= cut.through);
  if (archive !== undefined && numbers.length > 0) makeDirectory(archive, 0o700);
  for (const [moved, number] of numbers.entries()) {
    if (place.isHeld?.() === true) return numbers.slice(0, moved);
    // By its index an archived record is known as one.
    if (archive !== undefined && !(await isThere(join(directory, indexName(number))))) {
      await writeIndex(directory, number, await readPlaces(directory, number));
    }
    await moveFile(place, segmentName(number));
    place.onStep?.("segment-moved");
  }
  // A killed process may have moved a segment without its index.
  const indexes = isKept ? [] : listIndexes(await readdir(directory), cut.through);
  for (const name of indexes) {
    await moveFile(place, name);
    place.onStep?.("index-moved");
  }
  if (archive !== undefined && numbers.length + indexes.length > 0)
    await disk.syncDirectory(archive);
  place.onStep?.("archive-synced");
  await removeOldHeads(directory, cut.heads.file);
  if (numbers.length > 0) await disk.syncDirectory(directory);
  place.onStep?.("journal-synced");
  return numbers;
}

async function moveFile({ directory, archive, disk }: CutPlace, name: string): Promise<void> {
  const from = join(directory, name);
  if (archive === undefined) {
    await rm(from);
    return;
  }
  const to = join(archive, name);
  // A copy that a crash left is the same file; anything else is somebody's archive.
  if (name.endsWith(".jws") && (await isThere(to))) {
    await refuseAnother(to, (await digestOf(from)).sha256);
  }
  try {
    await rename(from, to);
  } catch (error) {
    if (codeOf(error) !== "EXDEV") throw error;
    await copyDurably(from, to);
    await disk.syncDirectory(archive);
    await rm(from);
  }
}

/** To another file system: under its name it is there whole, or not at all. */
async function copyDurably(from: string, to: string): Promise<void> {
  const part = `${to}.part`;
  await rm(part, { force: true });
  await copyFile(from, part, constants.COPYFILE_EXCL);
  const file = await open(part, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(part, to);
}

function listIndexes(names: readonly string[], through: number): readonly string[] {
  return names.filter((name) => /^\d{8}\.idx$/.test(name) && Number(name.slice(0, 8)) <= through);
}
