/**
 * `cuts.jws`, beside the segments: the signed checkpoints of every cut, in order. It grows by some hundred octets
 * per removed segment.   AGTP-IDENTIFIERS "Audit Log"
 */

import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { OctetLines } from "../../base/line-reader.ts";
import { codeOf } from "../../base/thrown.ts";
import { type JournalCut, readCut } from "./cut-record.ts";
import { openIfThere } from "./journal-disk.ts";

const NAME = "cuts.jws";
const LINE_FEED = 0x0a;
/** Exceeds the line of any cut, whose number of segments is bounded. */
const MAX_LINE = 256 * 1024;

/** Yields the complete lines; a partial last line was never relied on. Yields nothing without a file. */
export async function* readCutLines(directory: string): AsyncGenerator<string> {
  const lines = new OctetLines(MAX_LINE, () => new Error(`${NAME} holds no lines`));
  const stream = createReadStream(join(directory, NAME));
  try {
    for await (const chunk of stream as AsyncIterable<Buffer>) {
      for (const line of lines.take(chunk)) yield line.toString("latin1");
    }
  } catch (error) {
    if (codeOf(error) !== "ENOENT") throw error;
  }
}

/** Returns the last cut; undefined if nothing was cut, or the last line is invalid. */
export async function readLastCut(directory: string): Promise<JournalCut | undefined> {
  const tail = await readTail(directory);
  return tail === undefined ? undefined : readCut(tail.line);
}

/**
 * Appends a cut after removing a partial line that a crash left; resolves once it is on the disk. The name of a new
 * file may not be.
 */
export async function appendCut(directory: string, jws: string): Promise<void> {
  const tail = await readTail(directory);
  const file = await open(join(directory, NAME), "a", 0o600);
  try {
    await file.truncate(tail?.end ?? 0);
    // `appendFile` writes everything, while a single write may be partial on a full disk.
    await file.appendFile(`${jws}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Returns the last complete line and its end; undefined without one. */
async function readTail(
  directory: string,
): Promise<{ readonly line: string; readonly end: number } | undefined> {
  const file = await openIfThere(join(directory, NAME));
  if (file === undefined) return undefined;
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - 2 * MAX_LINE);
    const octets = Buffer.alloc(size - start);
    await file.read(octets, 0, octets.length, start);
    const last = octets.lastIndexOf(LINE_FEED);
    if (last === -1) return undefined;
    const before = last === 0 ? -1 : octets.lastIndexOf(LINE_FEED, last - 1);
    return { line: octets.toString("latin1", before + 1, last), end: start + last + 1 };
  } finally {
    await file.close();
  }
}
