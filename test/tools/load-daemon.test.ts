/** The daemon's file with its bytecode, in processes of their own, as Node's flags decide whether that fits. */
import { execFileSync } from "node:child_process";
import { cpSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { daemonFlags } from "../../tools/daemon-flags.ts";
import { createDirectory } from "../support/directory.ts";

const DIST = resolve(import.meta.dirname, "../../dist");
const FLAGS = daemonFlags(join(DIST, "tools/agtpd.js"));

/** Tells whether the bytecode was rejected, and the kind of the export that runs the daemon. */
function load(flags: readonly string[], dist = DIST): unknown {
  const address = pathToFileURL(join(dist, "tools/load-daemon.js"));
  const code = `
    const { loadDaemon } = await import("${address}");
    const { exports, script } = loadDaemon("agtpd-daemon");
    console.log(JSON.stringify([script.cachedDataRejected ?? "none", typeof exports.runDaemon]));`;
  const args = [...flags, "--input-type=module", "--eval", code];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
}

/** The parts that are loaded, somewhere else, for a test to change. */
function copyDaemon(): string {
  const dist = join(createDirectory(), "dist");
  cpSync(join(DIST, "daemon"), join(dist, "daemon"), { recursive: true });
  cpSync(join(DIST, "tools/load-daemon.js"), join(dist, "tools/load-daemon.js"));
  writeFileSync(join(dist, "../package.json"), '{"type":"module"}');
  return dist;
}

describe("the daemon's file", () => {
  it("takes the bytecode that the build kept, under the flags of agtpd", () => {
    expect(load(FLAGS)).toEqual([false, "function"]);
  });

  it("is compiled where the flags are others", () => {
    expect(load(["--max-semi-space-size=8"])).toEqual([true, "function"]);
  });

  it("is compiled where there is no bytecode, or what is no bytecode", () => {
    const dist = copyDaemon();
    const bytecode = join(dist, "daemon/daemon.cjs.bytecode");
    rmSync(bytecode);
    expect(load(FLAGS, dist)).toEqual(["none", "function"]);
    writeFileSync(bytecode, "");
    expect(load(FLAGS, dist)).toEqual([true, "function"]);
    writeFileSync(bytecode, "bytecode".repeat(1_000));
    expect(load(FLAGS, dist)).toEqual([true, "function"]);
  });
});
