/**
 * Reads the records of a journal from its end to its beginning, one at a time, however many there
 * are.   AGTP-IDENTIFIERS "Audit Log"
 */
import { hash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import type { JournalPosition } from "./journal.ts";
import {
  LINE_FEED,
  MAX_LINE,
  type SegmentPlace,
  type StoredRecord,
  segmentName,
} from "./segment.ts";

const CHUNK = 64 * 1024;

/** Every whole line of every segment, the last one first; only those that end before a position. */
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
  /** The octets from `end` on that begin in a line whose beginning was not read yet. */
  let rest: Buffer = Buffer.alloc(0);
  let isTail = true;
  while (end > 0) {
    const start = Math.max(0, end - CHUNK);
    const chunk = Buffer.alloc(end - start);
    await file.read(chunk, 0, chunk.length, start);
    let octets = Buffer.concat([chunk, rest]);
    if (isTail) {
      // Half a line at the end is none.
      octets = octets.subarray(0, octets.lastIndexOf(LINE_FEED) + 1);
      isTail = octets.length === 0;
    }
    end = start;
    for (;;) {
      const before = octets.length < 2 ? -1 : octets.lastIndexOf(LINE_FEED, octets.length - 2);
      if (octets.length === 0 || (before === -1 && start > 0)) break;
      const jws = octets.toString("latin1", before + 1, octets.length - 1);
      const offset = start + before + 1;
      yield { jws, auditId: hash("sha256", jws), offset, length: jws.length };
      octets = octets.subarray(0, before + 1);
    }
    rest = octets;
    if (rest.length > MAX_LINE) throw new Error(`${name} holds no journal lines`);
  }
}
