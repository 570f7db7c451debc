import { execFileSync } from "node:child_process";
import { availableParallelism } from "node:os";
import { defineConfig, type ViteUserConfigFnPromise } from "vitest/config";
import { BUILT, builtModules } from "./test/support/built-modules.ts";
import { ClosingLine } from "./test/support/closing-line.ts";
import { LongestFirst } from "./test/support/longest-first.ts";
import { testEnvironment } from "./test/support/memory-directory.ts";

// Of the time of tests a fifth is garbage collection, and a quarter the optimization of what runs seldom, on
// threads that others have a use for.
const WORKER_FLAGS = [
  "--max-semi-space-size=64",
  "--single-threaded-gc",
  "--interrupt-budget=1000000",
];

/** The flags that this Node has: it starts with no other. */
function flagsOf(node: string): readonly string[] {
  const options = execFileSync(node, ["--v8-options"], { encoding: "utf8" });
  return WORKER_FLAGS.filter((flag) => options.includes(`\n  ${flag.split("=")[0]} (`));
}

/** With `--mode built`, as `npm test` has it, tests are of what the build made; otherwise of the sources. */
const config: ViteUserConfigFnPromise = defineConfig(async ({ mode }) => ({
  plugins: mode === "built" ? [builtModules()] : [],
  test: {
    include: ["test/**/*.test.ts"],
    reporters: ["default", new ClosingLine()],
    // The machine may be busy; a test that hangs ends all the same.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    pool: "forks",
    execArgv: [...flagsOf(process.execPath)],
    // Many tests wait: for leases, deadlines, and processes that end.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    // A module is loaded once for all files of a worker: none keeps anything of its own.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    server: { deps: { external: [BUILT] } },
    env: await testEnvironment(),
  },
}));

export default config;
