/** The files of a store as a process leaves them that is killed: its latest commits are in the log. */
import { copyFileSync, readFileSync, writeFileSync } from "node:fs";
import { openTestStore } from "./store.ts";

/** Makes commits in the database at a path, each of them a transaction of its own. */
export async function leaveCommits(path: string, commits: number): Promise<void> {
  const store = await openTestStore("sqlite", path);
  for (let count = 0; count < commits; count += 1) {
    const value = String(count).repeat(3000);
    await store.commit([{ kind: "put", collection: "left", key: `k${count}`, value }]);
  }
  const files = [path, `${path}-wal`];
  for (const file of files) copyFileSync(file, `${file}.killed`);
  await store.close();
  for (const file of files) copyFileSync(`${file}.killed`, file);
}

/** Makes the octet at a place another one. */
export function flipOctet(path: string, at: number): void {
  const octets = readFileSync(path);
  octets[at] = (octets[at] ?? 0) ^ 0x55;
  writeFileSync(path, octets);
}
