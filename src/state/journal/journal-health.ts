/**
 * Checks a journal without reading it entirely: its segment numbers, the manifest of segments, and the first and
 * last record of each segment. Read-only, also while a daemon writes.   AGTP-IDENTIFIERS "Audit Log"
 */

import { hash } from "node:crypto";
import { closeSync, fstatSync, openSync } from "node:fs";
import { join } from "node:path";
import { readAt } from "../../base/bounded-file.ts";
import { decodeJws } from "../../identity/jws.ts";
import { LINE_FEED, MAX_LINE, segmentName, segmentNumber, segmentsIn } from "./segment.ts";
import { readSegmentDescriptions, type SegmentDescription } from "./segment-manifest.ts";

/** A fault of a journal. */
interface JournalFault {
  /** True if the next start repairs it without loss of acknowledged records. */
  readonly isHarmless: boolean;
  /** Relative to the journal's directory. */
  readonly file: string;
  /** Lower case, no full stop. */
  readonly message: string;
}

/** The most segments opened, newest first, since a journal may have terabytes. */
const MAX_OPENED = 256;

/** Examines the journal of a directory; one that was never begun has no faults. */
export function examineJournal(directory: string): readonly JournalFault[] {
  const numbers = segmentsIn(directory);
  const last = numbers.at(-1);
  const described = readSegmentDescriptions(directory);
  const faults = findMissing(numbers, described);
  for (const number of numbers.slice(-MAX_OPENED)) {
    const description = described.find(({ file }) => file === segmentName(number));
    const ends = readEnds(join(directory, segmentName(number)));
    const message = findSegmentFault(ends, description);
    if (message !== undefined) {
      faults.push({ isHarmless: false, file: segmentName(number), message });
    } else if (!ends.isWhole) {
      const torn = "has half a record at its end, which was never acknowledged";
      const isHarmless = number === last;
      faults.push({ isHarmless, file: segmentName(number), message: torn });
    }
  }
  return faults;
}

/** Finds gaps in the segment numbers. The oldest segments may be missing, but none after a remaining one. */
function findMissing(
  numbers: readonly number[],
  described: readonly SegmentDescription[],
): JournalFault[] {
  const told = described.flatMap(({ file }) => segmentNumber(file) ?? []);
  const last = numbers.at(-1) ?? 0;
  const end = Math.max(last, ...told);
  if (end === 0) return [];
  // With no segment left, the last known one stands in.
  const known = numbers.length === 0 ? [end - 1] : numbers;
  return [...known, end + 1].flatMap((next, index, all) => {
    const before = index === 0 ? next : (all[index - 1] ?? next);
    return next - before > 1 ? [missing(before + 1, next - 1)] : [];
  });
}

function missing(from: number, to: number): JournalFault {
  const which = from === to ? "is" : `and those up to ${segmentName(to)} are`;
  const message = `${which} missing, with every record in between`;
  return { isHarmless: false, file: segmentName(from), message };
}

/** The first and the last complete line of a segment. */
interface SegmentEnds {
  readonly size: number;
  /** Undefined in a segment without a complete line. */
  readonly first: string | undefined;
  readonly last: string | undefined;
  /** True if the file ends with a line feed. */
  readonly isWhole: boolean;
}

function findSegmentFault(
  { size, first, last }: SegmentEnds,
  description: SegmentDescription | undefined,
): string | undefined {
  for (const jws of [first, last]) {
    if (jws !== undefined && decodeJws(jws) === undefined)
      return "holds something else than records";
  }
  if (description === undefined) return undefined;
  const { bytes, first_audit_id: firstId, last_audit_id: lastId } = description;
  if (size !== bytes) return `has ${size} octets, and had ${bytes} when it was finished`;
  if (hashOf(first) !== firstId || hashOf(last) !== lastId) {
    return "was altered: its first or last record is another than when it was finished";
  }
  return undefined;
}

function hashOf(jws: string | undefined): string {
  return jws === undefined ? "" : hash("sha256", jws);
}

function readEnds(path: string): SegmentEnds {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    const head = readAt(file, 0, Math.min(size, MAX_LINE));
    const tail = readAt(file, Math.max(0, size - MAX_LINE), Math.min(size, MAX_LINE));
    const end = tail.lastIndexOf(LINE_FEED);
    const before = end < 1 ? -1 : tail.lastIndexOf(LINE_FEED, end - 1);
    const firstEnd = head.indexOf(LINE_FEED);
    return {
      size,
      first: firstEnd === -1 ? undefined : head.toString("latin1", 0, firstEnd),
      last: end === -1 ? undefined : tail.toString("latin1", before + 1, end),
      isWhole: size === 0 || tail.at(-1) === LINE_FEED,
    };
  } finally {
    closeSync(file);
  }
}
