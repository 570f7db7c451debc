/** One process at a time has a state directory, and one that was killed keeps nobody out. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { hostname } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { lockStateDirectory, type StateLock } from "../../src/state/state-lock.ts";
import { makeDirectory } from "../support/directory.ts";

const PROGRAM = fileURLToPath(new URL("../support/hold-lock.mjs", import.meta.url));

/** A process that takes the lock and keeps it; its first line. */
async function startHolder(directory: string) {
  const child = spawn(process.execPath, [PROGRAM, directory], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return { child, line: (await lines.next()).value as string };
}

async function lock(directory: string): Promise<StateLock> {
  const locking = await lockStateDirectory(directory, "agtpd");
  if (locking.kind !== "locked") throw new Error(locking.message);
  onTestFinished(() => locking.lock.release());
  return locking.lock;
}

describe("lockStateDirectory", () => {
  it("makes the directory, and lets nobody else read what it puts there", async () => {
    const directory = join(makeDirectory(), ".agtp");
    await lock(directory);
    for (const name of ["", "lock", "lock.json"]) {
      expect([name, statSync(join(directory, name)).mode & 0o077]).toEqual([name, 0]);
    }
  });

  it("names who has it, in this process and in another", async () => {
    const directory = makeDirectory();
    const { child, line } = await startHolder(directory);
    expect(line).toBe("locked");
    const refused = await lockStateDirectory(directory, "agtpd");
    expect(refused).toMatchObject({ kind: "taken" });
    expect("message" in refused && refused.message).toMatch(
      new RegExp(`^is in use by holder, process ${child.pid} on ${hostname()}, since 20`),
    );
    const own = makeDirectory();
    await lock(own);
    expect(await lockStateDirectory(own, "agtpd")).toMatchObject({
      message: expect.stringContaining(`process ${process.pid} `),
    });
  });

  it("is free again when it is released, as often as that is said, and its name goes", async () => {
    const directory = makeDirectory();
    for (let turn = 1; turn <= 3; turn += 1) {
      const held = await lock(directory);
      held.release();
      held.release();
      expect(existsSync(join(directory, "lock.json"))).toBe(false);
    }
  });

  it("is free as soon as its holder was killed, whose name is still there", async () => {
    const directory = makeDirectory();
    const { child } = await startHolder(directory);
    child.kill("SIGKILL");
    await once(child, "exit");
    expect(existsSync(join(directory, "lock.json"))).toBe(true);
    await lock(directory);
    expect(JSON.parse(readFileSync(join(directory, "lock.json"), "utf8"))).toMatchObject({
      program: "agtpd",
      pid: process.pid,
    });
  });

  it.each([
    "",
    "{",
    '{"program":"x"}',
    `{"program":"agtpd","pid":2147483646,"host":"${hostname()}","since":"x"}`,
  ])("names nobody where the note says %j", async (note) => {
    const directory = makeDirectory();
    await lock(directory);
    writeFileSync(join(directory, "lock.json"), note);
    expect(await lockStateDirectory(directory, "agtpd")).toEqual({
      kind: "taken",
      message: "is in use by another process",
    });
  });

  it("has one holder, however many start at the same moment", async () => {
    const directory = makeDirectory();
    const lines = await Promise.all([1, 2, 3, 4].map(() => startHolder(directory)));
    expect(lines.filter(({ line }) => line === "locked")).toHaveLength(1);
  });

  it("says why there is none where a file is in the way", async () => {
    const directory = makeDirectory({ file: "" });
    expect(await lockStateDirectory(join(directory, "file"), "agtpd")).toMatchObject({
      kind: "impossible",
      message: expect.stringContaining("a file is in the way"),
    });
  });
});
