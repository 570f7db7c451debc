/** A console that is off costs nothing: none of its code is loaded. */
import { readFileSync } from "node:fs";
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
  const files = [...stderr.matchAll(/^loaded (file:\S+)$/gm)].map(([, url = ""]) => new URL(url));
  const loaded = files.flatMap((file) => [file.pathname, ...bundledIn(file)]);
  expect(loaded.length).toBeGreaterThan(100);
  return loaded.flatMap((name) => /\/modules\/console\/(\S+)$/.exec(name)?.[1] ?? []);
}

/** The modules that the build has put into one file. */
function bundledIn(file: URL): readonly string[] {
  if (!file.pathname.includes("/dist/")) return [];
  return [...readFileSync(file, "utf8").matchAll(/^\/\/ (dist\/\S+)$/gm)].map(
    ([, name = ""]) => name,
  );
}

it("a daemon without a console loads no more of it than its sections and its entry", async () => {
  expect((await loadedBy(false)).toSorted()).toEqual(["config.js", "module.js"]);
  expect(await loadedBy(true)).toContain("open-console.js");
}, 120_000);
