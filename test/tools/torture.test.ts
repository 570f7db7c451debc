import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, readdirSync, readFileSync } from "node:fs";
import { resolve } from "node:path";
import { createInterface } from "node:readline";
import { describe, expect, it, vi } from "vitest";
import { makeDirectory } from "../support/directory.ts";
import { PATIENCE } from "../support/patience.ts";
import { describeWherePostgresIs } from "../support/postgres.ts";

const PROGRAM = resolve(import.meta.dirname, "../../dist/tools/torture.js");

function torture(...args: readonly string[]) {
  return new Promise<{ readonly code: number; readonly text: string }>((done) => {
    execFile(process.execPath, [PROGRAM, ...args], (error, stdout, stderr) => {
      done({ code: error === null ? 0 : Number(error.code), text: stdout + stderr });
    });
  });
}

describe("npm run torture", () => {
  it("ends by itself, with a line for each attack that it was told to make", async () => {
    const few = ["--seconds", "1", "--endpoints", "1", "--max-stall-ms", "60000"];
    const { code, text } = await torture("--only", "garbage,kill-9", ...few);
    expect(text).toMatch(/^garbage +\d+ +stall \d+ ms +\(own \d+ ms\) +held$/m);
    expect(text).toMatch(/^kill-9 .*held$/m);
    expect(text).toContain("2 of 2 held");
    expect(code).toBe(0);
  }, 120_000);

  it.each([
    ["--max-stall-ms", "0", "a whole number from 1 to 999999 is expected"],
    ["--faults", "1000000", "a whole number from 1 to 999999 is expected"],
    ["--seed", "1e3", "a whole number from 1 to 999999999 is expected"],
  ])("takes no %s of %s", async (option, value, message) => {
    const { code, text } = await torture("--only", "garbage", option, value);
    expect(text).toContain(message);
    expect(code).toBe(1);
  });

  it("names the attacks that there are to whoever asks for another", async () => {
    const { code, text } = await torture("--only", "flattery");
    expect(text).toContain('"flattery" is no attack');
    expect(code).toBe(1);
  });
});

describeWherePostgresIs("npm run torture for a cluster", () => {
  it("holds while one node is killed and the database is stopped once", async () => {
    const few = ["--seconds", "60", "--faults", "2", "--plan", "kill-node,stop-database"];
    const { code, text } = await torture("--only", "cluster", "--seed", "5", ...few);
    expect(text).toContain("cluster  seed 5\n   1 kill-node\n   2 stop-database\n");
    expect(text).toMatch(/^cluster {2}2 faults, \d{3,} requests, \d{2,} records {2}held$/m);
    expect(code).toBe(0);
  }, 120_000);

  it.each([
    ["SIGTERM", 143],
    ["SIGINT", 130],
  ] as const)("leaves nothing behind when %s ends it", async (signal, code) => {
    const directory = makeDirectory();
    // The server's user passes through it.
    chmodSync(directory, 0o711);
    // A slow link ends none of the processes.
    const plan = ["--only", "cluster", "--seconds", "60", "--plan", "slow-link"];
    const child = spawn(process.execPath, [PROGRAM, ...plan], {
      env: { ...process.env, TMPDIR: directory },
      stdio: ["ignore", "pipe", "inherit"],
    });
    for await (const line of createInterface({ input: child.stdout })) {
      if (/^ +1 /.test(line)) break;
    }
    expect(processesNaming(directory).length).toBeGreaterThan(3);
    child.kill(signal);
    expect(await once(child, "exit")).toEqual([code, null]);
    expect(readdirSync(directory)).toEqual([]);
    await vi.waitFor(() => expect(processesNaming(directory)).toEqual([]), PATIENCE);
  });
});

/** The command lines of processes in which a directory is named. */
function processesNaming(directory: string): readonly string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  const lines = pids.map((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
    } catch {
      return "";
    }
  });
  return lines.filter((line) => line.includes(directory));
}
