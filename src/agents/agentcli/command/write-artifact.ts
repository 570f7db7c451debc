/**
 * Writes an artifact to a file in the present directory or below it, whole or not at all. Links that
 * lead out of the directory are not followed.
 */
import { realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { reasonOf } from "../../../thrown.ts";
import { type Failure, invalidArgument } from "../failure.ts";

/** The absolute path of what was written. */
export interface WrittenFile {
  readonly kind: "written";
  readonly path: string;
}

/** Writes JSON. */
export function writeArtifact(
  file: string,
  directory: string,
  value: unknown,
): WrittenFile | Failure {
  try {
    const root = realpathSync(directory);
    const parent = realpathSync(dirname(resolve(root, file)));
    if (parent !== root && !parent.startsWith(root.endsWith(sep) ? root : root + sep)) {
      return invalidArgument(`Output path must be inside the current directory: ${file}`);
    }
    // A link at the path itself is replaced, not followed.
    const path = join(parent, basename(file));
    const draft = `${path}.${process.pid}.tmp`;
    try {
      writeFileSync(draft, `${JSON.stringify(value, null, 2)}\n`, { flag: "wx" });
      renameSync(draft, path);
    } catch (error) {
      rmSync(draft, { force: true });
      throw error;
    }
    return { kind: "written", path };
  } catch (error) {
    return invalidArgument(`Output cannot be written: ${reasonOf(error)}`);
  }
}
