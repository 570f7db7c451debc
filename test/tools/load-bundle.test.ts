/** The files of the bundle with their bytecode, in processes of their own, as Node's flags decide whether that fits. */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import { daemonFlags } from "../../tools/daemon-flags.ts";
import { makeDeployment } from "../support/deployment.ts";
import { createDirectory } from "../support/directory.ts";

const DIST = resolve(import.meta.dirname, "../../dist");
const FLAGS = daemonFlags(join(DIST, "tools/agtpd.js"));

/** Tells for each file that is loaded whether its bytecode was rejected, and the kind of the export that runs the daemon. */
function load(flags: readonly string[], dist = DIST): unknown {
  const address = pathToFileURL(join(dist, "tools/load-bundle.js"));
  const code = `
    const { loadBundled, loadedScripts } = await import("${address}");
    const { runDaemon } = loadBundled("agtpd-daemon");
    const fates = [...loadedScripts().values()].map(({ cachedDataRejected = "none" }) => cachedDataRejected);
    console.log(JSON.stringify([...new Set(fates), typeof runDaemon]));`;
  const args = [...flags, "--input-type=module", "--eval", code];
  return JSON.parse(execFileSync(process.execPath, args, { encoding: "utf8" }));
}

/** The parts that are loaded, somewhere else, for a test to change. */
function copyBundle(): string {
  const dist = join(createDirectory(), "dist");
  cpSync(join(DIST, "bundle"), join(dist, "bundle"), { recursive: true });
  for (const name of ["load-bundle", "programs", "agtpd"]) {
    cpSync(join(DIST, `tools/${name}.js`), join(dist, `tools/${name}.js`));
  }
  writeFileSync(join(dist, "../package.json"), '{"type":"module"}');
  return dist;
}

describe("the files of the bundle", () => {
  it("take the bytecode that the build kept, under the flags of agtpd", () => {
    expect(load(FLAGS)).toEqual([false, "function"]);
  });

  it("are loaded under these flags by every program", () => {
    const { bin } = JSON.parse(readFileSync(join(DIST, "../package.json"), "utf8"));
    const programs = Object.values<string>(bin);
    expect(programs.map((file) => daemonFlags(join(DIST, "..", file)))).toEqual(
      programs.map(() => FLAGS),
    );
  });

  it("have bytecode, all but the entry of workers, those that nothing of the build needed too", () => {
    const names = readdirSync(join(DIST, "bundle"));
    expect(names).toEqual(expect.arrayContaining(["daemon.cjs", "undici.cjs", "yaml.cjs"]));
    const bare = names.filter(
      (name) => name.endsWith(".cjs") && !names.includes(`${name}.bytecode`),
    );
    expect(bare).toEqual(["agtpd-worker.cjs"]);
  });

  it("are known as the program's own where they were moved to, which says that it ended the process itself", () => {
    const args = [...FLAGS, join(copyBundle(), "tools/agtpd.js"), "--check", "--config"];
    const { configPath } = makeDeployment();
    const { status, stdout } = spawnSync(process.execPath, [...args, configPath], {
      encoding: "utf8",
    });
    expect([status, stdout.includes("ended the process")]).toEqual([0, false]);
  });

  it("say nothing of where they were built", () => {
    const folder = join(DIST, "bundle");
    const placed = readdirSync(folder).filter((name) =>
      readFileSync(join(folder, name)).includes(DIST),
    );
    expect(placed).toEqual([]);
  });

  it("are compiled where the flags are others", () => {
    // The sizes of spaces are no difference to every Node.
    expect(load(["--no-flush-bytecode"])).toEqual([true, "function"]);
  });

  it("are compiled where there is no bytecode, or what is no bytecode", () => {
    const dist = copyBundle();
    const kept = readdirSync(join(dist, "bundle"))
      .filter((name) => name.endsWith(".bytecode"))
      .map((name) => join(dist, "bundle", name));
    for (const file of kept) rmSync(file);
    expect(load(FLAGS, dist)).toEqual(["none", "function"]);
    for (const file of kept) writeFileSync(file, "");
    expect(load(FLAGS, dist)).toEqual([true, "function"]);
    for (const file of kept) writeFileSync(file, "bytecode".repeat(1_000));
    expect(load(FLAGS, dist)).toEqual([true, "function"]);
  });
});
