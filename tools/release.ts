/**
 * `npm run release`: all steps before publication. Checks the tree, runs the tests, packs, installs
 * the tarball in an empty project under engine-strict and starts it there; then prints the
 * remaining steps.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { command } from "../src/programs/shell/command.ts";
import { findReleaseFaults } from "./package/release-checks.ts";
import { runHere } from "./process-terminal.ts";

function release(isTrial: boolean): boolean {
  const { version, repository } = JSON.parse(readFileSync("package.json", "utf8"));
  const faults = findReleaseFaults({
    ...{ version, repository: repository?.url },
    changelog: readFileSync("CHANGELOG.md", "utf8"),
    changes: lines("git", "status", "--porcelain"),
    tags: lines("git", "tag", "--list"),
  });
  for (const fault of faults) console.error(fault);
  if (faults.length > 0 && !isTrial) return false;
  if (!isTrial) run("npm", ["test"]);
  const directory = mkdtempSync(join(tmpdir(), "agtpd-release-"));
  run("npm", ["pack", "--pack-destination", directory]);
  const tarball = join(directory, `agtpd-${version}.tgz`);
  tryInstall(tarball, directory, version);
  console.log(`\n${tarball} is ready. What is left:\n`);
  console.log(
    `  git tag --sign v${version} --message "agtpd ${version}" && git push origin v${version}`,
  );
  console.log(`  npm publish ${tarball} --provenance --access public\n`);
  console.log("--provenance needs a workflow with the permission id-token: write.");
  return true;
}

/** Installs the tarball like a user would, makes and checks a deployment with it, and lists what was installed. */
function tryInstall(tarball: string, directory: string, version: string): void {
  writeFileSync(join(directory, "package.json"), '{ "private": true, "type": "module" }\n');
  writeFileSync(join(directory, ".npmrc"), "engine-strict=true\n");
  run("npm", ["install", "--ignore-scripts", "--no-audit", "--no-fund", tarball], directory);
  const program = join(directory, "node_modules/.bin/agtpd");
  const said = execFileSync(program, ["--version"], { encoding: "utf8" }).trim();
  if (!said.includes(version)) throw new Error(`agtpd --version says ${said}, expected ${version}`);
  run(program, ["init", "shop", "--yes"], directory);
  run(program, ["--check", "--config", "shop/agtp-server.toml"], directory);
}

function lines(command: string, ...args: readonly string[]): readonly string[] {
  const text = execFileSync(command, args, { encoding: "utf8" });
  return text.split("\n").filter((line) => line !== "");
}

function run(command: string, args: readonly string[], cwd: string = process.cwd()): void {
  console.error(`$ ${[command, ...args].join(" ")}`);
  execFileSync(command, args, { cwd, stdio: ["ignore", 2, 2] });
}

await runHere(
  command({
    name: "release",
    description:
      "makes a release ready to be published, and installs and starts it as a stranger would",
    options: { "--trial": "tells what is wrong with the tree and goes on, and runs no tests" },
    notes: "Exit codes: 0 ready to be published, 1 something is not as it must be.",
    run: ({ trial = false }) => release(trial),
  }),
);
