/** Directories with files in them, for the time of a test. */
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { onTestFinished } from "vitest";

/** Contents by name, relative to the directory. */
export type Files = Readonly<Record<string, string | Uint8Array>>;

/** Writes files, and the directories they need. */
export function writeFiles(directory: string, files: Files): void {
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), content);
  }
}

/** A directory that the caller removes; its path has no symbolic link in it. */
export function createDirectory(files: Files = {}): string {
  const directory = realpathSync(mkdtempSync(join(tmpdir(), "agtpd-test-")));
  writeFiles(directory, files);
  return directory;
}

/** A directory that is removed when the running test is over. */
export function makeDirectory(files: Files = {}): string {
  const directory = createDirectory(files);
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}
