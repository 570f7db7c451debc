/**
 * `cuts.jws`, beside the segments: the signed checkpoints of all cuts, in order. It only grows, by some
 * hundred octets a segment that is gone.   AGTP-IDENTIFIERS "Audit Log"
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
/** No cut has more segments than such a line names. */
const MAX_LINE = 256 * 1024;

/** Every whole line; half a line at the end was never counted on. None where there is no file. */
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

/** The last cut; undefined where nothing was ever cut, or the last line is no cut. */
export async function readLastCut(directory: string): Promise<JournalCut | undefined> {
  const tail = await readTail(directory);
  return tail === undefined ? undefined : readCut(tail.line);
}

/**
 * Appends a cut, and resolves once it is on the disk; half a line that a crash left goes. The name of
 * a file that is new may not be on the disk yet.
 */
export async function appendCut(directory: string, jws: string): Promise<void> {
  const tail = await readTail(directory);
  const file = await open(join(directory, NAME), "a", 0o600);
  try {
    await file.truncate(tail?.end ?? 0);
    // In full: a single write may take a part, on a disk that fills.
    await file.appendFile(`${jws}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** The last whole line, and where it ends; undefined without one. */
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
