/**
 * Cuts the oldest segments off a journal. The signed checkpoint is on the disk before the first segment moves, so
 * that a crash between any two steps leaves a journal that starts and verifies; the remaining segments move later.
 * AGTP-IDENTIFIERS "Audit Log"
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

/** The steps of a cut, each named after its completion. */
export type CutStep =
  | "heads-written"
  | "heads-synced"
  | "cut-written"
  | "cut-synced"
  | "segment-moved"
  | "index-moved"
  | "archive-synced"
  | "journal-synced";

/** The journal to cut, and the segments' destination. */
export interface CutPlace {
  readonly directory: string;
  /** Undefined: segments are deleted. */
  readonly archive: string | undefined;
  readonly disk: Pick<JournalDisk, "syncDirectory">;
  /** True once a reader needs the journal; the remaining segments then move later. */
  readonly isHeld?: (() => boolean) | undefined;
  /** Called after each step. */
  readonly onStep?: ((step: CutStep) => void) | undefined;
}

/** The signer of a cut. */
interface CutAuthor {
  readonly signer: Pick<RecordSigner, "sign">;
  readonly serverId: string;
  readonly now: number;
}

/** Writes the checkpoint for cutting these segments, or as many as fit; moves nothing yet. */
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

/** Moves or deletes the segments up to the cut; returns their numbers. */
export async function moveSegments(place: CutPlace, cut: JournalCut): Promise<readonly number[]> {
  const { directory, archive, disk } = place;
  // An archived cut deletes nothing, even if no archive is configured any more.
  const isKept = cut.isArchived && archive === undefined;
  const numbers = isKept ? [] : listSegments(directory).filter((one) => one <= cut.through);
  if (archive !== undefined && numbers.length > 0) makeDirectory(archive, 0o700);
  for (const [moved, number] of numbers.entries()) {
    if (place.isHeld?.() === true) return numbers.slice(0, moved);
    // The index tells that a record is archived.
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
  // A copy that a crash left is identical; a different file belongs to somebody else.
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

/** Copies to another file system: under its name the file is there completely, or not at all. */
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
