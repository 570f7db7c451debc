/**
 * The state directory of a deployment, `.agtp/`: one process at a time has it, whatever it keeps
 * there, and nothing is written through a link that leads out of it.
 */
import { join, relative } from "node:path";
import { PERMISSION_FAULT, WAY_TO_READ } from "../base/bounded-file.ts";
import type { Problem } from "../base/problem.ts";
import { findLinkFaults } from "../base/state-files.ts";
import { lockStateDirectory, NO_DRIVER, type StateLock } from "./state-lock.ts";

/** The lock, or every reason why the directory cannot be had. */
type StateDirectory =
  | {
      /** Undefined where nothing can be written, and nothing needs to be. */
      readonly lock: StateLock | undefined;
      readonly problems?: undefined;
    }
  | { readonly lock?: undefined; readonly problems: readonly Problem[] };

/** Secrets are read from there, and often are links to where they are mounted. */
const READ_ONLY = ["keys"];
/** Errors of a directory that nobody can write to: nobody's state is in danger there. */
const UNWRITABLE = ["EROFS", "EACCES", "EPERM"];
const WAY_WITHOUT_LINK =
  "nothing is written through such links: put a file or a directory there, or mount one";
const HINT =
  "a deployment directory has one daemon at a time: stop that one, or give this one its own directory";

/** Where a deployment keeps its state. */
export function stateDirectory(directory: string): string {
  return join(directory, ".agtp");
}

/** Where the records of a deployment are. */
export function journalDirectory(directory: string): string {
  return join(stateDirectory(directory), "journal");
}

/** Where a node notes what it was told is kept. */
export function acknowledgedPath(directory: string): string {
  return join(stateDirectory(directory), "acknowledged.json");
}

/** Where a daemon that runs there is asked how it is. */
export function controlPath(directory: string): string {
  return join(stateDirectory(directory), "control.sock");
}

/** The deployment whose state is taken. */
interface StateOwner {
  /** Absolute. */
  readonly directory: string;
  readonly store: { readonly driver: string };
}

/** Takes the directory for this process; `program` is what others are told has it. */
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
      // A store that needs the driver says so itself.
      if (locking.code === NO_DRIVER) return { lock: undefined };
      if (store.driver === "memory" && UNWRITABLE.includes(locking.code))
        return { lock: undefined };
      const message = `cannot be locked: "${nameOf(join(path, "lock"))}" ${locking.message}`;
      return { problems: [{ file: nameOf(path), key: "", message }] };
    }
  }
}
