/**
 * Removes lines that are not records from a journal's segments, and a damaged end from a store's log. The original
 * file is kept beside it, since its content is unknown.   AGTP-IDENTIFIERS "Audit Log"
 */
import { chmodSync, constants, copyFileSync, readFileSync, rmSync, truncateSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { replaceStateFile, syncPath } from "../../base/state-files.ts";
import { findLogDamage, logOf } from "../sqlite/log.ts";
import type { JournalDamage } from "./journal-damage.ts";
import { readChainRecord } from "./journal-replay.ts";
import { forgetSyncedMark } from "./journal-sync.ts";
import { readSegment, segmentName, segmentsIn } from "./segment.ts";
import { forgetSegments } from "./segment-manifest.ts";

type StrayLine = Extract<JournalDamage, { readonly kind: "no-record" }>;

/** The removed entries, and the names of the copies. */
export interface SetAside {
  readonly damages: readonly JournalDamage[];
  readonly copies: readonly string[];
}

/**
 * Truncates a store's log at the first invalid octet, so that SQLite reads what is left.
 * @param sync returns once a file, or the names in a directory, are on the disk
 */
export function setDamagedLogAside(
  path: string,
  now: number,
  sync: typeof syncPath = syncPath,
): SetAside {
  const damage = findLogDamage(path);
  if (damage === undefined) return { damages: [], copies: [] };
  const log = logOf(path);
  const copy = copyAside(log, now, sync);
  truncateSync(log, damage.offset);
  const lost = { kind: "lost-commits", file: basename(log), offset: damage.offset } as const;
  return { damages: [lost], copies: [copy] };
}

/** Copies every segment that has such lines, without removing them yet. */
export async function copyStrayLines(directory: string, now: number): Promise<SetAside> {
  const damages: StrayLine[] = [];
  const copies: string[] = [];
  for (const number of segmentsIn(directory)) {
    const stray = await findStrayLines(directory, number);
    if (stray.length === 0) continue;
    damages.push(...stray);
    copies.push(copyAside(join(directory, segmentName(number)), now, syncPath));
  }
  return { damages, copies };
}

/** Removes the lines from copied segments, which moves the lines after them. */
export async function takeStrayLinesOut(
  directory: string,
  files: ReadonlySet<string>,
): Promise<void> {
  forgetSyncedMark(directory);
  for (const number of segmentsIn(directory)) {
    const file = segmentName(number);
    if (files.has(file)) takeOut(join(directory, file), await findStrayLines(directory, number));
  }
  syncPath(directory);
  await forgetSegments(directory, [...files]);
}

async function findStrayLines(directory: string, number: number): Promise<readonly StrayLine[]> {
  const file = segmentName(number);
  const stray: StrayLine[] = [];
  for await (const { jws, offset, length } of readSegment(directory, number)) {
    if (readChainRecord(jws) !== undefined) continue;
    stray.push({ kind: "no-record", file, offset, length });
  }
  return stray;
}

function takeOut(path: string, stray: readonly StrayLine[]): void {
  const octets = readFileSync(path);
  const kept: Buffer[] = [];
  let start = 0;
  for (const { offset, length } of stray) {
    kept.push(octets.subarray(start, offset));
    start = offset + length + 1;
  }
  replaceStateFile(path, Buffer.concat([...kept, octets.subarray(start)]));
  // The index was built from the original lines.
  rmSync(path.replace(/\.jws$/, ".idx"), { force: true });
}

/** Copies a file within its directory, and returns the copy's name. */
function copyAside(path: string, now: number, sync: typeof syncPath): string {
  const copy = `${path}.damaged-${new Date(now).toISOString().replaceAll(":", "-")}`;
  copyFileSync(path, copy, constants.COPYFILE_EXCL);
  chmodSync(copy, 0o600);
  // The original is truncated next, and a power failure must not leave only that.
  for (const written of [copy, dirname(copy)]) sync(written);
  return basename(copy);
}
