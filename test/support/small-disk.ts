/** A file system that is small, so that a test can fill it; made by root alone. */
import { execFileSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, rmdirSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { codeOf } from "../../src/base/thrown.ts";
import { createDirectory } from "./directory.ts";

/** One that is mounted. */
export interface SmallDisk {
  /** On it, empty. */
  readonly directory: string;
  /** Leaves no room on it. */
  fill(): void;
  /** Gives back what was filled. */
  clear(): void;
  /** Unmounts it; nothing of it is left. */
  remove(): void;
}

/** Mounts one of so many MiB; undefined: this process may not. */
export function mountSmallDisk(mebibytes: number): SmallDisk | undefined {
  const root = createDirectory();
  const options = ["-t", "tmpfs", "-o", `size=${mebibytes}m`, "tmpfs", root];
  try {
    execFileSync("mount", options, { stdio: "ignore" });
  } catch {
    rmdirSync(root);
    return undefined;
  }
  const directory = join(root, "files");
  mkdirSync(directory);
  const ballast = join(root, "ballast");
  return {
    directory,
    fill: () => {
      const file = openSync(ballast, "a");
      for (const size of [65_536, 4_096]) while (isWritten(file, size));
      closeSync(file);
    },
    clear: () => rmSync(ballast),
    remove: () => {
      execFileSync("umount", ["-l", root], { stdio: "ignore" });
      rmdirSync(root);
    },
  };
}

function isWritten(file: number, size: number): boolean {
  try {
    return writeSync(file, Buffer.alloc(size)) === size;
  } catch (error) {
    if (codeOf(error) === "ENOSPC") return false;
    throw error;
  }
}
