import { availableParallelism } from "node:os";
import { defineConfig, type ViteUserConfig } from "vitest/config";
import { ClosingLine } from "./test/support/closing-line.ts";
import { testEnvironment } from "./test/support/memory-directory.ts";

const config: ViteUserConfig = defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    reporters: ["default", new ClosingLine()],
    // The machine may be busy; a test that hangs ends all the same.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    pool: "forks",
    // Many tests wait: for leases, deadlines, and processes that end.
    maxWorkers: Math.ceil(1.5 * availableParallelism()),
    // A module is loaded once for all files of a worker: none keeps anything of its own.
    isolate: false,
    env: testEnvironment(),
  },
});

export default config;
