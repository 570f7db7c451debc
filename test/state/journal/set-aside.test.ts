import { readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { setDamagedLogAside } from "../../../src/state/journal/set-aside.ts";
import { makeDirectory } from "../../support/directory.ts";
import { flipOctet, leaveCommits } from "../../support/killed-store.ts";

const FRAME = 24 + 4096;

describe("setDamagedLogAside", () => {
  it("cuts the log once its copy is on the disk, with its name", async () => {
    const path = join(makeDirectory(), "state.db");
    const log = `${path}-wal`;
    await leaveCommits(path, 12);
    flipOctet(log, 32 + 5 * FRAME + 1000);
    const before = readFileSync(log);
    const synced: (readonly [path: string, length: number])[] = [];
    const { copies, damages } = setDamagedLogAside(path, Date.UTC(2026, 0, 1), (written) => {
      synced.push([written, statSync(log).size]);
    });
    const copy = join(dirname(path), copies[0] ?? "");
    expect(synced).toEqual([copy, dirname(path)].map((written) => [written, before.length]));
    expect(damages).toMatchObject([{ kind: "lost-commits", offset: 32 + 5 * FRAME }]);
    expect(readFileSync(copy)).toEqual(before);
    expect(statSync(log).size).toBe(32 + 5 * FRAME);
  });
});
