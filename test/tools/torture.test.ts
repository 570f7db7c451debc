import { execFile } from "node:child_process";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
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
});
