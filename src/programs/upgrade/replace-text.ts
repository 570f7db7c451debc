/**
 * Replaces a file of a deployment whole or not at all, with the mode that it had. A link is followed
 * as far as it stays inside the deployment, and what changed since it was read is left alone.
 */
import { randomUUID } from "node:crypto";
import {
  accessSync,
  closeSync,
  constants,
  fchmodSync,
  fsyncSync,
  openSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { reasonOf } from "../../base/thrown.ts";

/** A file, what was read from it, and what it is to hold. */
interface Replacement {
  /** The deployment directory, absolute. */
  readonly directory: string;
  /** Relative to it. */
  readonly file: string;
  readonly before: string;
  readonly after: string;
}

const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf]);
/** As large as a file of a deployment may be, and its mark. */
const MAX_BYTES = 1_048_579;
const CHANGED = "changed while it was looked at";

/** Writes the file; answers with what kept it from being written. */
export function replaceText({ directory, file, before, after }: Replacement): string | undefined {
  try {
    const root = realpathSync(directory);
    const path = realpathSync(resolve(directory, file));
    if (!path.startsWith(root.endsWith(sep) ? root : root + sep)) {
      return "lies outside of the deployment directory";
    }
    accessSync(path, constants.W_OK);
    const status = statSync(path);
    if (!status.isFile() || status.size > MAX_BYTES) return CHANGED;
    const bytes = readFileSync(path);
    const hasMark = bytes.subarray(0, 3).equals(BYTE_ORDER_MARK);
    const mark = hasMark ? BYTE_ORDER_MARK : Buffer.alloc(0);
    if (!bytes.equals(Buffer.concat([mark, Buffer.from(before)]))) return CHANGED;
    return place(path, Buffer.concat([mark, Buffer.from(after)]), status.mode);
  } catch (error) {
    return `cannot be written: ${reasonOf(error)}`;
  }
}

/** Renames a complete file over the old one: whoever reads sees one of the two. */
function place(path: string, content: Buffer, mode: number): string | undefined {
  const directory = dirname(path);
  // A name that begins with a dot is none that a daemon would load meanwhile.
  const temporary = join(directory, `.${basename(path)}.${randomUUID()}.tmp`);
  const descriptor = openSync(temporary, "wx", 0o600);
  try {
    try {
      writeFileSync(descriptor, content);
      fchmodSync(descriptor, mode & 0o7777);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    if (realpathSync(path) !== path) return CHANGED;
    renameSync(temporary, path);
    return undefined;
  } finally {
    rmSync(temporary, { force: true });
  }
}
