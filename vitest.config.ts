import { defineConfig, type ViteUserConfig } from "vitest/config";

const config: ViteUserConfig = defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 20_000,
    pool: "forks",
    maxWorkers: "100%",
    // A module is loaded once for all files of a worker: none keeps anything of its own.
    isolate: false,
  },
});

export default config;
