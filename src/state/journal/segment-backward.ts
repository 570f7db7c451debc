/**
 * Reads the records of a journal from end to beginning, with one in memory at a time.   AGTP-IDENTIFIERS "Audit Log"
 */
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type { JournalPosition } from "./journal.ts";
import {
  LINE_FEED,
  MAX_DAMAGED_LINE,
  recordOf,
  type SegmentPlace,
  type StoredRecord,
  segmentName,
} from "./segment.ts";

const CHUNK = 64 * 1024;

/** Yields the complete lines of the segments, last first; only those that end before a position, if given. */
export async function* readBackward(
  segments: readonly SegmentPlace[],
  before?: JournalPosition,
): AsyncGenerator<StoredRecord & { readonly segment: number }> {
  for (const { directory, number } of segments.toReversed()) {
    if (before !== undefined && number > before.segment) continue;
    const end = number === before?.segment ? before.offset : undefined;
    const file = await open(join(directory, segmentName(number)), "r");
    try {
      for await (const record of readSegmentBackward(file, segmentName(number), end)) {
        yield { ...record, segment: number };
      }
    } finally {
      await file.close();
    }
  }
}

async function* readSegmentBackward(
  file: FileHandle,
  name: string,
  from?: number,
): AsyncGenerator<StoredRecord> {
  const { size } = await file.stat();
  let end = Math.min(from ?? size, size);
  /** The chunks of the line that contains `end`. */
  let rest: readonly Buffer[] = [];
  let isTail = true;
  while (end > 0) {
    const start = Math.max(0, end - CHUNK);
    let chunk = Buffer.alloc(end - start);
    await file.read(chunk, 0, chunk.length, start);
    if (isTail) {
      // A partial last line does not count.
      chunk = chunk.subarray(0, chunk.lastIndexOf(LINE_FEED) + 1);
      isTail = chunk.length === 0;
    }
    end = start;
    if (isTail) continue;
    rest = [chunk, ...rest];
    // A long line is concatenated once.
    if (start > 0 && !chunk.includes(LINE_FEED)) {
      if (rest.length * CHUNK > MAX_DAMAGED_LINE) throw new Error(`${name} holds no journal lines`);
      continue;
    }
    let octets = Buffer.concat(rest);
    for (;;) {
      const before = octets.length < 2 ? -1 : octets.lastIndexOf(LINE_FEED, octets.length - 2);
      if (octets.length === 0 || (before === -1 && start > 0)) break;
      yield recordOf(octets.subarray(before + 1, octets.length - 1), start + before + 1);
      octets = octets.subarray(0, before + 1);
    }
    rest = [octets];
  }
}
