/** The disk, and what a journal asked of it; a test says which syncs fail, and when they end. */
import { fstatSync } from "node:fs";
import { basename } from "node:path";
import { DISK, type JournalDisk } from "../../src/state/journal/journal-disk.ts";

export class WatchedDisk implements JournalDisk {
  /** In order: `write`, `sync`, `synced`, `failed` and `directory NAME`. */
  readonly asked: string[] = [];
  /** Files on which a sync has failed, once for each sync that was tried. */
  readonly failed: string[] = [];
  /** So many syncs fail from now on. */
  failures = 0;
  /** While set, a sync waits for it. */
  gate: Promise<void> | undefined;
  /** The file that was synced last. */
  lastSynced = "";

  write(file: number, octets: Uint8Array): number {
    this.asked.push("write");
    return DISK.write(file, octets);
  }

  async sync(file: number): Promise<void> {
    this.asked.push("sync");
    const name = nameOf(file);
    await this.gate;
    if (this.failures > 0) {
      this.failures -= 1;
      this.failed.push(name);
      this.asked.push("failed");
      throw new Error("input/output error");
    }
    await DISK.sync(file);
    this.lastSynced = name;
    this.asked.push("synced");
  }

  async syncDirectory(path: string): Promise<void> {
    this.asked.push(`directory ${basename(path)}`);
    await DISK.syncDirectory(path);
  }
}

/** One that was deleted may have left its inode to the next. */
function nameOf(file: number): string {
  const { ino, birthtimeNs } = fstatSync(file, { bigint: true });
  return `${ino} of ${birthtimeNs}`;
}
