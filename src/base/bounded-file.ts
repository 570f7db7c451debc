/**
 * Reads a file that an operator wrote, whatever it turns out to be: a directory, a device, a huge
 * or a binary file is a fault in words, never an exception and never a hang.
 */
import { closeSync, constants, fstatSync, openSync, readSync, statSync } from "node:fs";
import { codeOf } from "./thrown.ts";
import { decodeUtf8 } from "./utf8.ts";

/** The text of a file, or why there is none. */
export type FileText =
  | { readonly text: string; readonly fault?: undefined }
  | { readonly text?: undefined; readonly fault: string };

/** The fault of a file that this user may not read. */
export const PERMISSION_FAULT = "must be readable, permission denied";
/** The remedy of it, as the hint of a problem. */
export const WAY_TO_READ =
  "it is for the user that agtpd runs as: chown it, or start agtpd as its owner";

const FAULTS: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "does not exist"],
  ["ENOTDIR", "does not exist"],
  ["EACCES", PERMISSION_FAULT],
  ["ELOOP", "is a loop of symbolic links"],
  ["EISDIR", "must be a file, is a directory"],
]);

/** The octets of a file, or why there are none. */
type FileBytes =
  | { readonly bytes: Uint8Array; readonly fault?: undefined }
  | { readonly bytes?: undefined; readonly fault: string };

/** Longer files have octets of their own. */
const SCRATCH_LENGTH = 64 * 1024;
/** Octets that become text at once: thousands of buffers would each be a thing to collect. */
const scratch = Buffer.allocUnsafeSlow(SCRATCH_LENGTH);

/** Reads a regular file as UTF-8; a byte order mark is dropped. */
export function readBoundedFile(path: string, maxBytes: number): FileText {
  const { bytes, fault } = readBounded(path, maxBytes, scratch);
  if (bytes === undefined) return { fault };
  const text = decodeUtf8(bytes);
  return text === undefined ? { fault: "must be UTF-8 text" } : { text };
}

/** Reads a regular file as it is. */
export function readBoundedBytes(path: string, maxBytes: number): FileBytes {
  return readBounded(path, maxBytes, undefined);
}

/** The octets lie in `room` where they fit. */
function readBounded(path: string, maxBytes: number, room: Buffer | undefined): FileBytes {
  let descriptor: number | undefined;
  try {
    // Without O_NONBLOCK, opening a FIFO would wait for somebody to write to it.
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

/** As much of the file as there was when its size was looked at. */
function fill(room: Buffer, descriptor: number, size: number): Uint8Array {
  let length = 0;
  while (length < size) {
    const count = readSync(descriptor, room, length, size - length, null);
    if (count === 0) break;
    length += count;
  }
  return room.subarray(0, length);
}

/** All of a file that says of no size: one that is begun just now, or one of /proc, which may be without end. */
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

/** Describes a `node:fs` error in words. */
export function describeFileError(error: unknown): string {
  const code = codeOf(error);
  return FAULTS.get(code) ?? `cannot be read (${code === "" ? "invalid path" : code})`;
}

/** The fault of a path that should be a directory; undefined: it is one. */
export function findDirectoryFault(path: string): string | undefined {
  try {
    return statSync(path).isDirectory() ? undefined : "must be a directory";
  } catch (error) {
    return describeFileError(error);
  }
}

/** Tells whether there is a file at a path; a path that cannot be looked at has none. */
export function isFile(path: string): boolean {
  try {
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

/** The octets of an open file from a position on, as many as there are. */
export function readAt(file: number, position: number, length: number): Buffer {
  const octets = Buffer.alloc(length);
  return octets.subarray(0, readSync(file, octets, 0, length, position));
}
