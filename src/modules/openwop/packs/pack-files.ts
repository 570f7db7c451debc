/**
 * The files inside one pack: nothing that a reference in a manifest says leads out of the pack's own
 * directory, neither a path that climbs nor a symbolic link.   OpenWOP RFC 0003 §C
 */
import { realpathSync } from "node:fs";
import { join, sep } from "node:path";
import {
  describeFileError,
  readBoundedBytes,
  readBoundedFile,
} from "../../../base/bounded-file.ts";
import { quoteValue } from "../../../base/json-value.ts";

/** The content of a file, or why that cannot be had. */
type Read<T> =
  | { readonly value: T; readonly fault?: undefined }
  | { readonly value?: undefined; readonly fault: string };

const MAX_REFERENCE_LENGTH = 1024;

/** One pack's directory. */
export class PackFiles {
  readonly #root: string;

  /** `root` is its real path. */
  constructor(root: string) {
    this.#root = root;
  }

  /** A file as UTF-8 text. */
  readText(reference: string, maxBytes: number): Read<string> {
    const found = this.#find(reference);
    if (found.value === undefined) return found;
    const { text, fault } = readBoundedFile(found.value, maxBytes);
    return text === undefined ? quoted(reference, fault) : { value: text };
  }

  /** A file as it is. */
  readBytes(reference: string, maxBytes: number): Read<Uint8Array> {
    const found = this.#find(reference);
    if (found.value === undefined) return found;
    const { bytes, fault } = readBoundedBytes(found.value, maxBytes);
    return bytes === undefined ? quoted(reference, fault) : { value: bytes };
  }

  #find(reference: string): Read<string> {
    const fault = referenceFault(reference);
    if (fault !== undefined) return quoted(reference, fault);
    try {
      const path = realpathSync(join(this.#root, reference));
      if (path.startsWith(this.#root + sep)) return { value: path };
      return quoted(reference, "is a link that leads out of the pack");
    } catch (error) {
      return quoted(reference, describeFileError(error));
    }
  }
}

function quoted(reference: string, fault: string): { readonly fault: string } {
  return { fault: `${quoteValue(reference)} ${fault}` };
}

/** `pack:` URLs and the like name no file, and are found to be absent. */
function referenceFault(reference: string): string | undefined {
  if (reference.length > MAX_REFERENCE_LENGTH) {
    return `must be at most ${MAX_REFERENCE_LENGTH} characters long`;
  }
  if (reference.includes("\0") || reference.includes("\\")) {
    return "must be a path with forward slashes";
  }
  if (reference.startsWith("/")) return "must be a path relative to the pack";
  return reference.split("/").includes("..") ? "must not lead out of the pack" : undefined;
}
