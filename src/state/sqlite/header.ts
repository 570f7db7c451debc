/**
 * Checks by the header if a file can be the database of a sqlite store, for programs that must not open it because a
 * daemon uses it.   SQLite "Database File Format"
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { APPLICATION_ID } from "./migrations.ts";

const HEADER_BYTES = 100;
const MAGIC = "SQLite format 3\0";
const PAGE_SIZE_AT = 16;
const APPLICATION_ID_AT = 68;

/** Returns the fault of the file, if any; throws if it is unreadable. */
export function findSqliteFault(path: string): string | undefined {
  const file = openSync(path, "r");
  try {
    const { size } = fstatSync(file);
    // Nothing was written yet, or only to the log.
    if (size === 0) return undefined;
    const header = Buffer.alloc(HEADER_BYTES);
    if (readSync(file, header, 0, HEADER_BYTES, 0) < HEADER_BYTES) return "is cut short";
    return findHeaderFault(header, size);
  } finally {
    closeSync(file);
  }
}

function findHeaderFault(header: Buffer, size: number): string | undefined {
  if (header.toString("latin1", 0, MAGIC.length) !== MAGIC) return "is not a database";
  const applicationId = header.readUInt32BE(APPLICATION_ID_AT);
  // The first commit of a new database may still be in its log.
  if (applicationId !== APPLICATION_ID && applicationId !== 0) {
    return "is the database of another program";
  }
  const written = header.readUInt16BE(PAGE_SIZE_AT);
  const pageSize = written === 1 ? 65_536 : written;
  return pageSize < 512 || size % pageSize !== 0 ? "is cut short" : undefined;
}
