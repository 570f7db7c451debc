/** The first ten minutes, as the page says: its commands are run in order by a shell, with the built programs. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { makeDirectory } from "./support/directory.ts";
import { listen } from "./support/port.ts";
import { ROOT } from "./support/source-tree.ts";

const PAGE = readFileSync(join(ROOT, "docs/start.md"), "utf8");
const BLOCK = /^```(sh|daemon|refused)\n([\s\S]*?)^```$/gm;
const blocks = [...PAGE.matchAll(BLOCK)].map(([, kind = "", text = ""]) => ({ kind, text }));

let daemon: ChildProcess | undefined;
afterEach(() => {
  daemon?.kill("SIGKILL");
  daemon = undefined;
});

/** A directory with the programs, as an installation has them on the path. */
function installPrograms(directory: string): string {
  const folder = join(directory, "bin");
  mkdirSync(folder);
  for (const name of ["agtpd", "agtp", "agtp-keys"]) {
    const path = join(folder, name);
    const program = join(ROOT, "dist/tools", `${name}.js`);
    writeFileSync(path, `#!/bin/sh\nexec "${process.execPath}" "${program}" "$@"\n`);
    chmodSync(path, 0o755);
  }
  return folder;
}

async function freePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function ready(child: ChildProcess): Promise<void> {
  let said = "";
  for await (const chunk of child.stdout ?? []) {
    said += String(chunk);
    if (said.includes('"event":"listening"')) return;
  }
  throw new Error(`the daemon ended: ${said}`);
}

describe("docs/start.md", () => {
  it("does what it says", async () => {
    const directory = makeDirectory();
    const port = await freePort();
    const env = { ...process.env, PATH: `${installPrograms(directory)}:${process.env["PATH"]}` };
    const here = (text: string): string =>
      text
        .replaceAll("agtp://localhost", `agtp://localhost:${port}`)
        .replace("init shop --yes", `init shop --yes --port ${port}`);
    const outputs: string[] = [];
    // What a command sets, later ones have, as in one terminal.
    let before = "";
    for (const { kind, text } of blocks) {
      if (kind === "daemon") {
        daemon = spawn("bash", ["-c", `exec ${text}`], { cwd: join(directory, "shop"), env });
        await ready(daemon);
        continue;
      }
      const commands = kind === "refused" ? text.replace(/^agtp .*$/gm, "! $&") : text;
      const script = `set -e\n${before}\n${here(commands)}`;
      const run = spawnSync("bash", ["-c", script], { cwd: directory, env, encoding: "utf8" });
      expect(run.status, `${text}\n${run.stderr}`).toBe(0);
      outputs.push(run.stdout + run.stderr);
      before += (here(text).match(/^(?:cd |[A-Z]+=).*$/gm) ?? [])
        .map((line) => `${line}\n`)
        .join("");
    }
    const all = outputs.join("\n");
    expect(all).toContain("the deployment is valid");
    expect(all).toContain('"missing_scopes":["items:reserve"]');
    expect(all).toContain('"reserved":2');
    expect(all).toContain('"code":"too_few"');
    expect(all).toContain("/quantity must be integer");
    expect(outputs.at(-1)).toMatch(
      /records +3\n[\s\S]*signatures +3 verified, 0 unsigned\nchain +holds/,
    );
    expect(outputs.at(-1)).toContain("stopped");
  });
});
