/** The times of the first and the last record of a segment, read from its ends alone. */
import { open } from "node:fs/promises";
import { join } from "node:path";
import { readChainRecord } from "./journal-replay.ts";
import { segmentName } from "./segment.ts";

/** Milliseconds since the epoch. */
export interface SegmentTimes {
  readonly first: number;
  readonly last: number;
}

const CHUNK = 64 * 1024;

/** Reads a segment; a record that is too long to be seen counts with the time of the file. */
export async function readSegmentTimes(directory: string, number: number): Promise<SegmentTimes> {
  const file = await open(join(directory, segmentName(number)), "r");
  try {
    const { size, mtimeMs, birthtimeMs } = await file.stat();
    const octets = Buffer.alloc(Math.min(CHUNK, size));
    await file.read(octets, 0, octets.length, 0);
    const [head = ""] = octets.toString("latin1").split("\n", 1);
    await file.read(octets, 0, octets.length, size - octets.length);
    const tail = octets.toString("latin1").split("\n").at(-2) ?? "";
    return {
      first: readChainRecord(head)?.at ?? birthtimeMs,
      last: readChainRecord(tail)?.at ?? mtimeMs,
    };
  } finally {
    await file.close();
  }
}
