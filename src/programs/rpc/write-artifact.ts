/**
 * Writes an artifact to a file in the present directory or below it, whole or not at all, and makes the
 * directories on the way. Links that lead out of the directory are not followed.
 */
import { lstatSync, realpathSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve, sep } from "node:path";
import { makeDirectory } from "../../base/make-directory.ts";
import { reasonOf } from "../../base/thrown.ts";
import { type Failure, invalidArgument } from "../../modules/agentcli/failure.ts";

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
    const wanted = dirname(resolve(root, file));
    if (!isWithin(nearestPlace(wanted), root)) {
      return invalidArgument(`Output path is outside the current working directory: ${file}`);
    }
    makeDirectory(wanted);
    // A link at the path itself is replaced, not followed.
    const path = join(realpathSync(wanted), basename(file));
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

/** The part of a path that is there, links resolved; a link to nowhere is a fault. */
function nearestPlace(path: string): string {
  const isThere = lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  return isThere || dirname(path) === path ? realpathSync(path) : nearestPlace(dirname(path));
}

function isWithin(place: string, root: string): boolean {
  return place === root || place.startsWith(root.endsWith(sep) ? root : root + sep);
}
