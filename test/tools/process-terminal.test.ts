/** Built programs whose output nobody takes: their exit codes say what they would have. */
import { spawnSync } from "node:child_process";
import { closeSync, existsSync, openSync } from "node:fs";
import { resolve } from "node:path";
import { describe, expect, it } from "vitest";
import { makeDeployment } from "../support/deployment.ts";

const TOOLS = resolve(import.meta.dirname, "../../dist/tools");
const FULL = "/dev/full";

function run(args: readonly string[], full: "stdout" | "stderr") {
  const device = openSync(FULL, "w");
  const stdio = full === "stdout" ? ["ignore", device, "pipe"] : ["ignore", "pipe", device];
  const [program = "", ...rest] = args;
  const { status, stderr } = spawnSync(process.execPath, [resolve(TOOLS, program), ...rest], {
    stdio: stdio as ["ignore", "pipe", "pipe"],
    encoding: "utf8",
  });
  closeSync(device);
  return { status, stderr };
}

/** The exit code of a program whose reader has gone. */
function runUnread(args: readonly string[]): number {
  const line = '{ { "$0" "$@" 2>/dev/null; echo $? >&3; } | :; } 3>&1';
  const [program = "", ...rest] = args;
  const words = ["-c", line, process.execPath, resolve(TOOLS, program), ...rest];
  return Number(spawnSync("sh", words, { encoding: "utf8" }).stdout);
}

const checking = (files: Readonly<Record<string, string>> = {}) => {
  const { configPath } = makeDeployment(files);
  return ["agtpd.js", "--check", "--config", configPath];
};
const BROKEN = { "endpoints/bad.toml": '[endpoint]\nmethod = "QUERY"\n' };

// formats §6
describe.skipIf(!existsSync(FULL))("a program on a full disk", () => {
  it("exits 2, and says that its result is lost", () => {
    for (const args of [checking(BROKEN), ["agtpd.js", "schema", "server"], ["agtp-rpc.js"]]) {
      const { status, stderr } = run(args, "stdout");
      expect(status).toBe(2);
      expect(stderr).toMatch(/^cannot write to standard output: .*ENOSPC/m);
    }
  });

  it("exits by its answer where only what it says beside it is lost", () => {
    expect(run(checking(), "stderr").status).toBe(0);
    expect(run(checking(BROKEN), "stderr").status).toBe(1);
    expect(run(["agtp-manifest.js", "/no/such/file"], "stderr").status).toBe(2);
  });
});

it("is found wanting by a check, whose reader has gone", () => {
  expect(runUnread(checking(BROKEN))).toBe(1);
  expect(runUnread(checking())).toBe(0);
});
