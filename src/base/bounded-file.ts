/**
 * Reads an operator's file safely: a directory, a device, a huge or a binary file is a fault in
 * words, never an exception or a hang.
 */
import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import { codeOf } from "./thrown.ts";
import { decodeUtf8 } from "./utf8.ts";

/** The text of a file, or its fault. */
export type FileText =
  | { readonly text: string; readonly fault?: undefined }
  | { readonly text?: undefined; readonly fault: string };

/** The fault of an unreadable file. */
export const PERMISSION_FAULT = "must be readable, permission denied";
/** Its remedy, as a problem's hint. */
export const WAY_TO_READ =
  "it is for the user that agtpd runs as: chown it, or start agtpd as its owner";

const FAULTS: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "does not exist"],
  ["ENOTDIR", "does not exist"],
  ["EACCES", PERMISSION_FAULT],
  ["ELOOP", "is a loop of symbolic links"],
  ["EISDIR", "must be a file, is a directory"],
]);

/** The octets of a file, or its fault. */
type FileBytes =
  | { readonly bytes: Uint8Array; readonly fault?: undefined }
  | { readonly bytes?: undefined; readonly fault: string };

/** The length up to which a file is read into the shared buffer. */
const SCRATCH_LENGTH = 64 * 1024;
/**
 * A shared buffer for octets that are decoded at once, since thousands of buffers would burden the
 * garbage collector.
 */
const scratch = Buffer.allocUnsafeSlow(SCRATCH_LENGTH);

/** Reads a regular file as UTF-8; a byte order mark is dropped. */
export function readBoundedFile(path: string, maxBytes: number): FileText {
  const { bytes, fault } = readBounded(path, maxBytes, scratch);
  if (bytes === undefined) return { fault };
  const text = decodeUtf8(bytes);
  return text === undefined ? { fault: "must be UTF-8 text" } : { text };
}

/** Reads a regular file as octets. */
export function readBoundedBytes(path: string, maxBytes: number): FileBytes {
  return readBounded(path, maxBytes, undefined);
}

/** Reads a file into `room` if it fits. */
function readBounded(path: string, maxBytes: number, room: Buffer | undefined): FileBytes {
  let descriptor: number | undefined;
  try {
    // Without O_NONBLOCK, opening a FIFO would wait for a writer.
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const status = fstatSync(descriptor);
    if (status.isDirectory()) return { fault: "must be a file, is a directory" };
    if (!status.isFile()) return { fault: "must be a regular file" };
    if (status.size > maxBytes) {
      return { fault: `must be at most ${maxBytes} bytes long, has ${status.size}` };
    }
    const { size } = status;
    if (size === 0) return readUnsized(descriptor, maxBytes);
    const isRoomy = room !== undefined && size <= room.length;
    return { bytes: fill(isRoomy ? room : Buffer.allocUnsafeSlow(size), descriptor, size) };
  } catch (error) {
    return { fault: describeFileError(error) };
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Reads up to the size that the file had when it was opened. */
function fill(room: Buffer, descriptor: number, size: number): Uint8Array {
  let length = 0;
  while (length < size) {
    const count = readSync(descriptor, room, length, size - length, null);
    if (count === 0) break;
    length += count;
  }
  return room.subarray(0, length);
}

/** Reads a file that reports no size, such as one just created or one of /proc, which may be endless. */
function readUnsized(descriptor: number, maxBytes: number): FileBytes {
  const pieces: Buffer[] = [];
  let length = 0;
  for (;;) {
    const count = readSync(descriptor, scratch, 0, SCRATCH_LENGTH, null);
    if (count === 0) return { bytes: Buffer.concat(pieces, length) };
    length += count;
    if (length > maxBytes) return { fault: `must be at most ${maxBytes} bytes long, has more` };
    pieces.push(Buffer.from(scratch.subarray(0, count)));
  }
}

/** Describes an error of `node:fs`. */
export function describeFileError(error: unknown): string {
  const code = codeOf(error);
  return FAULTS.get(code) ?? `cannot be read (${code === "" ? "invalid path" : code})`;
}

/** Returns the fault of a path that should be a directory; undefined for a directory. */
export function findDirectoryFault(path: string): string | undefined {
  try {
    return statSync(path).isDirectory() ? undefined : "must be a directory";
  } catch (error) {
    return describeFileError(error);
  }
}

/** Tells whether a path is a file; false if it cannot be examined. */
export function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** Reads from an open file at a position, up to the end of the file. */
export function readAt(file: number, position: number, length: number): Buffer {
  const octets = Buffer.alloc(length);
  return octets.subarray(0, readSync(file, octets, 0, length, position));
}
