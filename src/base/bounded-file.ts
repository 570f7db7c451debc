/**
 * Reads a file that an operator wrote, whatever it turns out to be: a directory, a device, a huge
 * or a binary file is a fault in words, never an exception and never a hang.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from "node:fs";
import { codeOf } from "./thrown.ts";

/** The text of a file, or why there is none. */
export type FileText =
  | { readonly text: string; readonly fault?: undefined }
  | { readonly text?: undefined; readonly fault: string };

const FAULTS: ReadonlyMap<string, string> = new Map([
  ["ENOENT", "does not exist"],
  ["ENOTDIR", "does not exist"],
  ["EACCES", "must be readable, permission denied"],
  ["ELOOP", "is a loop of symbolic links"],
  ["EISDIR", "must be a file, is a directory"],
]);

/** The octets of a file, or why there are none. */
export type FileBytes =
  | { readonly bytes: Uint8Array; readonly fault?: undefined }
  | { readonly bytes?: undefined; readonly fault: string };

/** Reads a regular file as UTF-8; a byte order mark is dropped. */
export function readBoundedFile(path: string, maxBytes: number): FileText {
  const { bytes, fault } = readBoundedBytes(path, maxBytes);
  return bytes === undefined ? { fault } : decodeText(bytes);
}

/** Reads a regular file as it is. */
export function readBoundedBytes(path: string, maxBytes: number): FileBytes {
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
    return { bytes: readFileSync(descriptor) };
  } catch (error) {
    return { fault: describeFileError(error) };
  } finally {
    if (descriptor !== undefined) closeSync(descriptor);
  }
}

/** Describes a `node:fs` error in words. */
export function describeFileError(error: unknown): string {
  const code = codeOf(error);
  return FAULTS.get(code) ?? `cannot be read (${code === "" ? "invalid path" : code})`;
}

function decodeText(bytes: Uint8Array): FileText {
  try {
    return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch {
    return { fault: "must be UTF-8 text" };
  }
}
