/**
 * Reads records of a chain from the newest back: what stands before a record that was looked up is
 * read along with it, as the record before it in its chain is most often there.
 */
import { hash } from "node:crypto";
import { type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "../../base/thrown.ts";
import type { RecordPlace, RecordReader } from "../journal/journal.ts";
import { findRecordBefore } from "../journal/record-before.ts";
import { segmentName } from "../journal/segment.ts";

/** How much is read at a time: some hundred records. */
const BLOCK = 128 * 1024;

/** Reads for one walk; `locate` says where a record stands. */
export function openChainReader(
  directory: string,
  locate: (auditId: string) => Promise<RecordPlace | undefined>,
): RecordReader {
  let known: ReadonlyMap<string, string> = new Map();
  return {
    find: async (auditId) => {
      const found = known.get(auditId);
      if (found !== undefined) return found;
      const place = await locate(auditId);
      if (place === undefined) return undefined;
      known = await readBefore(directory, place);
      return known.get(auditId);
    },
    before: async (agentId, auditId) => {
      const place = auditId === undefined ? undefined : await locate(auditId);
      return findRecordBefore(directory, { agentId, auditId, place });
    },
  };
}

/** A record and those before it in its segment, under the hashes that they have. */
async function readBefore(
  directory: string,
  { segment, offset, length }: RecordPlace,
): Promise<ReadonlyMap<string, string>> {
  const end = offset + length;
  const start = Math.max(0, Math.min(offset, end - BLOCK));
  const file = await openIfThere(join(directory, segmentName(segment)));
  if (file === undefined) return new Map();
  try {
    const octets = Buffer.alloc(end - start);
    await file.read(octets, 0, octets.length, start);
    const lines = octets.toString("latin1").split("\n");
    // The first one may be the end of a line.
    const whole = start === 0 || start === offset ? lines : lines.slice(1);
    return new Map(whole.map((jws) => [hash("sha256", jws), jws]));
  } finally {
    await file.close();
  }
}

/** Segments may be taken away while the server runs. */
async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, "r");
  } catch (error) {
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}
