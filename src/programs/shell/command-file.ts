/** Files that a command line of `agtp` names: read whole, or a usage error that says why not. */
import { resolve } from "node:path";
import { readBoundedFile } from "../../base/bounded-file.ts";
import { AgtpClientError } from "../../client/client-error.ts";

const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** The text of a file; a relative path starts at `directory`. */
export function readText(directory: string, file: string): string {
  const read = readBoundedFile(resolve(directory, file), MAX_FILE_BYTES);
  if (read.text !== undefined) return read.text;
  throw usage(`${JSON.stringify(file)} ${read.fault}`);
}

/** The command line asks for something that cannot be. */
export function usage(message: string): AgtpClientError {
  return new AgtpClientError("ERR_AGTP_REQUEST", message);
}
