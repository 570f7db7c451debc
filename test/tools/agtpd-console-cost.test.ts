/** A console that is off costs nothing: none of its code is loaded. */
import { join } from "node:path";
import { expect, it } from "vitest";
import { startProgram } from "../support/agtpd.ts";
import { configFile, makeDeployment } from "../support/deployment.ts";

/** The files of the console's module that a daemon has loaded once it listens. */
async function loadedBy(isEnabled: boolean): Promise<readonly string[]> {
  const console = { enabled: isEnabled, port: 0 };
  const deployment = makeDeployment({ "agtp-server.toml": configFile({ console }) });
  const hooks = join(import.meta.dirname, "../support/loaded-modules.mjs");
  const env = { NODE_OPTIONS: `--import ${hooks}` };
  const { child, outcome } = await startProgram(deployment.configPath, { env });
  child.kill("SIGTERM");
  const { stderr } = await outcome;
  const loaded = stderr.match(/^loaded \S+$/gm) ?? [];
  expect(loaded.length).toBeGreaterThan(100);
  return loaded.flatMap((line) => /\/modules\/console\/(\S+)$/.exec(line)?.[1] ?? []);
}

it("a daemon without a console loads no more of it than its sections and its entry", async () => {
  expect((await loadedBy(false)).toSorted()).toEqual([
    "console-section.js",
    "module.js",
    "oidc-section.js",
  ]);
  expect(await loadedBy(true)).toContain("open-console.js");
}, 120_000);
