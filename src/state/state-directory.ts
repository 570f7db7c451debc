/**
 * The state directory of a deployment, `.agtp/`: used by one process at a time, and never written through a link
 * that leads out of it.
 */
import { join, relative } from "node:path";
import { PERMISSION_FAULT, WAY_TO_READ } from "../base/bounded-file.ts";
import type { Problem } from "../base/problem.ts";
import { findLinkFaults } from "../base/state-files.ts";
import { lockStateDirectory, NO_DRIVER, type StateLock } from "./state-lock.ts";

/** The lock, or every reason why the directory cannot be used. */
type StateDirectory =
  | {
      /** Undefined if nothing can be written, and nothing needs to be. */
      readonly lock: StateLock | undefined;
      readonly problems?: undefined;
    }
  | { readonly lock?: undefined; readonly problems: readonly Problem[] };

/** Secrets are only read, and are often links to a mount. */
const READ_ONLY = ["keys"];
/** Errors of a directory that nobody can write, so that no state is at risk. */
const UNWRITABLE = ["EROFS", "EACCES", "EPERM"];
const WAY_WITHOUT_LINK =
  "nothing is written through such links: put a file or a directory there, or mount one";
const HINT =
  "a deployment directory has one daemon at a time: stop that one, or give this one its own directory";

/** Returns the state directory of a deployment. */
export function stateDirectory(directory: string): string {
  return join(directory, ".agtp");
}

/** Returns the directory of a deployment's journal. */
export function journalDirectory(directory: string): string {
  return join(stateDirectory(directory), "journal");
}

/** Returns the file in which a node notes acknowledged records. */
export function acknowledgedPath(directory: string): string {
  return join(stateDirectory(directory), "acknowledged.json");
}

/** Returns the path of the running daemon's control socket. */
export function controlPath(directory: string): string {
  return join(stateDirectory(directory), "control.sock");
}

/** The deployment whose state directory is taken. */
interface StateOwner {
  /** An absolute path. */
  readonly directory: string;
  readonly store: { readonly driver: string };
}

/** Locks the directory for this process; `program` names the holder to others. */
export async function takeStateDirectory(
  { directory, store }: StateOwner,
  program: string,
): Promise<StateDirectory> {
  const path = stateDirectory(directory);
  const nameOf = (one: string): string => relative(directory, one);
  const links = findLinkFaults(path, READ_ONLY);
  if (links.length > 0) {
    return {
      problems: links.map(({ path: file, message }) => ({
        file: nameOf(file),
        key: "",
        message,
        hint: message === PERMISSION_FAULT ? WAY_TO_READ : WAY_WITHOUT_LINK,
      })),
    };
  }
  const locking = await lockStateDirectory(path, program);
  switch (locking.kind) {
    case "locked":
      return { lock: locking.lock };
    case "taken":
      return { problems: [{ file: nameOf(path), key: "", message: locking.message, hint: HINT }] };
    case "impossible": {
      // A store that needs the driver reports its absence itself.
      if (locking.code === NO_DRIVER) return { lock: undefined };
      if (store.driver === "memory" && UNWRITABLE.includes(locking.code))
        return { lock: undefined };
      const message = `cannot be locked: "${nameOf(join(path, "lock"))}" ${locking.message}`;
      return { problems: [{ file: nameOf(path), key: "", message }] };
    }
  }
}
