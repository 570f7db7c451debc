/** The SQLite store of processes that are killed, or that want the same file. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { readStoreCopy } from "../../src/state/moving/read-copy.ts";
import { makeDirectory } from "../support/directory.ts";
import { openTestStore } from "../support/store.ts";

const PROGRAM = fileURLToPath(new URL("../support/commit-loop.mjs", import.meta.url));

interface Committer {
  readonly child: ChildProcess;
  readonly lines: AsyncIterator<string>;
}

function startCommitter(path: string): Committer {
  const child = spawn(process.execPath, [PROGRAM, path], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, lines };
}

const firstLine = async ({ lines }: Committer): Promise<string> => (await lines.next()).value;

describe("a process that commits", () => {
  it("loses nothing that was acknowledged, and halves nothing, when it is killed", async () => {
    const path = join(makeDirectory(), "state.db");
    const acknowledged: string[] = [];
    for (let round = 1; round <= 3; round += 1) {
      const { child, lines } = startCommitter(path);
      expect(await lines.next()).toEqual({ done: false, value: "open" });
      acknowledged.length = 0;
      for (let line = await lines.next(); !line.done; line = await lines.next()) {
        acknowledged.push(line.value);
        if (acknowledged.length === 200 * round) child.kill("SIGKILL");
      }
      expect(acknowledged.length).toBeGreaterThanOrEqual(200 * round);

      const store = await openTestStore("sqlite", path);
      const left = await store.list("left");
      expect(await store.list("right")).toEqual(left);
      expect(left.map(({ key }) => key)).toEqual(expect.arrayContaining(acknowledged));
      await store.close();
    }
  });

  it("is read beside as it was at one moment, or not at all", async () => {
    const path = join(makeDirectory(), "state.db");
    const { lines } = startCommitter(path);
    for (let line = 0; line < 2_000; line += 1) await lines.next();
    for (let read = 0; read < 4; read += 1) {
      try {
        const [left, right] = readStoreCopy(path, ["left", "right"]);
        expect(left?.length).toBeGreaterThan(0);
        expect(right).toEqual(left);
      } catch (error) {
        expect(error).toEqual(new Error("the store is written faster than it can be copied"));
      }
      await lines.next();
    }
  });

  it("keeps a second one from the file until it has ended", async () => {
    const path = join(makeDirectory(), "state.db");
    const first = startCommitter(path);
    expect(await firstLine(first)).toBe("open");
    const refused = await firstLine(startCommitter(path));
    expect(refused).toContain("is in use by another daemon");
    first.child.kill("SIGKILL");
    await once(first.child, "exit");
    expect(await firstLine(startCommitter(path))).toBe("open");
  });

  it("is alone, however many start at the same moment", async () => {
    const path = join(makeDirectory(), "state.db");
    const answers = await Promise.all([1, 2, 3, 4].map(() => firstLine(startCommitter(path))));
    expect(answers.filter((answer) => answer === "open")).toHaveLength(1);
  });
});
