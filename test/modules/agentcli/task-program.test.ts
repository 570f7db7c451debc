import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { ProcessGroups } from "../../../src/base/process-groups.ts";
import {
  runTaskProgram,
  type TaskProgram,
} from "../../../src/modules/agentcli/run/task-program.ts";
import { makeDirectory } from "../../support/directory.ts";

const ENV = { PATH: process.env["PATH"] ?? "" };

function task(script: string, members: Partial<TaskProgram> = {}): TaskProgram {
  return {
    program: "sh",
    args: ["-c", script],
    env: ENV,
    cwd: "/",
    stdin: null,
    timeoutMs: 10_000,
    signal: new AbortController().signal,
    maxOutputBytes: 1000,
    ...members,
  };
}

async function ended(program: TaskProgram) {
  const outcome = await runTaskProgram(program);
  if (outcome.kind !== "ended") throw new Error(outcome.message);
  const text = (text: string): string => text;
  return { ...outcome, out: outcome.stdout.text(text), err: outcome.stderr.text(text) };
}

/** Signal 0 asks whether a process is there; what is a zombie has ended. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Leaves the ids of itself and of a grandchild in a file, and stays. */
const FAMILY =
  "sh -c 'trap \"\" TERM; echo $$ > child; while :; do sleep 1; done' & echo $$ > leader; wait";

async function family(directory: string): Promise<readonly number[]> {
  const files = ["leader", "child"].map((name) => join(directory, name));
  const isThere = (file: string) => existsSync(file) && readFileSync(file, "utf8").endsWith("\n");
  await until(() => files.every(isThere));
  return files.map((file) => Number(readFileSync(file, "utf8")));
}

describe("runTaskProgram", () => {
  it("returns what a program puts out, and how it ends", async () => {
    const outcome = await ended(task("cat; echo oops >&2; exit 3", { stdin: "in" }));
    expect(outcome).toMatchObject({
      exitCode: 3,
      signal: null,
      isTimedOut: false,
      out: "in",
      err: "oops\n",
    });
    expect(await ended(task("kill -9 $$"))).toMatchObject({ exitCode: null, signal: "SIGKILL" });
  });

  it("hands arguments over as they are", async () => {
    const args = ["a b", "$(id)", "`id`", "'", '"', "; touch owned", "*"];
    const program = task("", { program: "printf", args: ["%s\\n", ...args] });
    expect((await ended(program)).out.split("\n").slice(0, -1)).toEqual(args);
  });

  it("gives a program the environment that it is given, and no other", async () => {
    expect((await ended(task("env | sort", { env: { ...ENV, ONLY: "this" } }))).out).toMatch(
      /^ONLY=this$/m,
    );
    expect((await ended(task("env"))).out).not.toMatch(/VITEST|NODE_ENV/);
  });

  it("says what cannot be started", async () => {
    expect(await runTaskProgram(task("", { program: "no-such-program" }))).toMatchObject({
      kind: "not-started",
      message: expect.stringContaining("no-such-program"),
    });
    expect(await runTaskProgram(task("", { cwd: "/no/such/place" }))).toMatchObject({
      kind: "not-started",
    });
    expect(await runTaskProgram(task("x".repeat(200_000)))).toMatchObject({
      kind: "not-started",
      message: expect.stringContaining("arguments"),
    });
    const signal = AbortSignal.abort();
    expect(await runTaskProgram(task("", { signal }))).toMatchObject({ kind: "not-started" });
  });

  it("lets a program run that may take longer than a timer can be set to", async () => {
    const outcome = await ended(task("sleep 0.1", { timeoutMs: Number.MAX_SAFE_INTEGER }));
    expect(outcome).toMatchObject({ exitCode: 0, isTimedOut: false });
  });

  it("ends the grandchildren when the process that runs them exits", async () => {
    const cwd = makeDirectory();
    const before = new Set(process.listeners("exit"));
    const added = () => process.listeners("exit").filter((listener) => !before.has(listener));
    const groups = new ProcessGroups();
    const running = [cwd, makeDirectory()].map((cwd) =>
      runTaskProgram(task(FAMILY, { cwd }), groups),
    );
    const pids = await family(cwd);
    const [onExit, ...others] = added();
    expect(others).toEqual([]);
    onExit?.call(process, 1);
    for (const outcome of await Promise.all(running)) {
      expect(outcome).toMatchObject({ kind: "ended", signal: "SIGKILL" });
    }
    await until(() => !pids.some(isRunning));
    expect(added()).toEqual([]);
  });

  it("ends the grandchildren, too, when the time is up", async () => {
    const cwd = makeDirectory();
    const running = ended(task(FAMILY, { cwd, timeoutMs: 300 }));
    const pids = await family(cwd);
    expect(await running).toMatchObject({ isTimedOut: true });
    await until(() => !pids.some(isRunning));
  });

  it("ends the grandchildren at once when nobody waits any more", async () => {
    const cwd = makeDirectory();
    const abort = new AbortController();
    const running = ended(task(FAMILY, { cwd, signal: abort.signal }));
    const pids = await family(cwd);
    abort.abort();
    expect(await running).toMatchObject({ exitCode: null, signal: "SIGKILL", isTimedOut: false });
    await until(() => !pids.some(isRunning));
  });

  it("does not wait for what a program leaves behind, and ends it", async () => {
    const cwd = makeDirectory();
    const outcome = await ended(task("sleep 60 & echo $! > left; echo done", { cwd }));
    expect(outcome).toMatchObject({ exitCode: 0, out: "done\n" });
    const pid = Number(readFileSync(join(cwd, "left"), "utf8"));
    await until(() => !isRunning(pid));
  });

  it("does not wait for what has left the group and holds the streams open", async () => {
    const outcome = await ended(task("setsid sleep 5 & echo done"));
    expect(outcome).toMatchObject({ exitCode: 0, out: "done\n" });
    expect(outcome.durationMs).toBeLessThan(4_000);
  });

  it("keeps the beginning of a long output, and counts and hashes all of it", async () => {
    const outcome = await ended(task("head -c 5000000 /dev/zero | tr '\\0' x; echo y >&2"));
    expect(outcome.out).toBe("x".repeat(1000));
    expect(outcome.stdout.isTruncated).toBe(true);
    expect(outcome.stdout.bytes).toBe(5_000_000);
    expect(outcome.err).toBe("y\n");
    const again = await ended(task("head -c 5000000 /dev/zero | tr '\\0' x"));
    expect(again.stdout.digest()).toBe(outcome.stdout.digest());
  });

  it("ends a program that puts out without end", async () => {
    const outcome = await ended(task("yes"));
    expect(outcome).toMatchObject({ isFlooding: true, isTimedOut: false, exitCode: null });
    expect(outcome.stdout.bytes).toBeLessThan(100_000_000);
  });

  it("takes a secret out that the cut goes through, and cuts no character in two", async () => {
    const program = task("printf 'ab%s' \"$SECRET\"", {
      env: { ...ENV, SECRET: "s3cr3t-value" },
      maxOutputBytes: 6,
    });
    const outcome = await runTaskProgram(program);
    if (outcome.kind !== "ended") throw new Error(outcome.message);
    expect(outcome.stdout.text((text) => text.replaceAll("s3cr3t-value", "[X]"))).toBe("ab[X]");
    expect((await ended(task("printf 'aééé'", { maxOutputBytes: 4 }))).out).toBe("aé");
  });

  it("runs programs that do not read what they are given", async () => {
    expect(await ended(task("exit 0", { stdin: "x".repeat(1_000_000) }))).toMatchObject({
      exitCode: 0,
    });
  });
});
